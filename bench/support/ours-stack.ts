import type { OrderWorld } from '../../test/harness/order-world.ts';
import { findRedisServer } from '../../test/harness/redis.ts';
import type { OrderStack } from './peer-stack.ts';
import { openStack } from './stack.ts';

/** The built service, run as the plain one: its API alone. */
export async function startOurStack(world: OrderWorld): Promise<OrderStack | undefined> {
  if (findRedisServer() === undefined) return undefined;
  const stack = await openStack({ ...world, phones: 0 });
  const { versions, sql } = stack;
  return {
    name: 'ours',
    versions,
    sql,
    start: async () => (await stack.start({ worker: 'none' })).url,
    halt: () => stack.halt(),
    close: () => stack.close(),
  };
}
