import type { OrderWorld } from '../../test/harness/order-world.ts';
import { findRedisServer } from '../../test/harness/redis.ts';
import type { OrderStack } from './peer-stack.ts';
import { openStack } from './stack.ts';

/** The built service, run as the plain one: its API apart from a worker whose handlers only write the row. */
export async function startOurStack(world: OrderWorld): Promise<OrderStack | undefined> {
  if (findRedisServer() === undefined) return undefined;
  const stack = await openStack({ ...world, phones: 0 });
  const { versions, sql } = stack;
  return {
    name: 'ours',
    versions,
    sql,
    start: async (worker) => (await stack.start({ worker: worker ? 'rows' : 'none' })).url,
    halt: () => stack.halt(),
    backlog: () => stack.backlog(),
    close: () => stack.close(),
  };
}
