import type { OrderWorld } from '../../test/harness/order-world.ts';
import { type PlainStack, startPlainStack } from '../support/plain-stack.ts';
import { openStack, type Stack } from '../support/stack.ts';
import type { Stoppable } from '../support/stop-all.ts';

/** Both at once, since neither is measured yet. A plain service that cannot be had is left out. */
export async function openStacks(
  world: OrderWorld,
  opened: Stoppable[],
  signal: AbortSignal,
  root: string | undefined,
): Promise<{ readonly stack: Stack; readonly plain: PlainStack | string }> {
  const [ours, plain] = await Promise.allSettled([
    openStack({ ...world, phones: 0 }, signal, { root }),
    startPlainStack(world, signal),
  ]);
  for (const one of [ours, plain]) {
    if (one.status === 'fulfilled' && one.value) {
      const { value } = one;
      opened.push({ stop: () => value.close() });
    }
  }
  if (ours.status === 'rejected') throw ours.reason;
  if (plain.status === 'rejected') return { stack: ours.value, plain: `it did not start: ${plain.reason}` };
  return { stack: ours.value, plain: plain.value ?? 'it needs PostGIS and a redis-server, and one is not installed' };
}

/** Ends all at once, as none needs another. */
export async function closeAll(opened: readonly Stoppable[]): Promise<void> {
  const ends = await Promise.allSettled(opened.map(({ stop }) => stop()));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
