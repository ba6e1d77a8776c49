import { expect, test } from 'vitest';
import type { OrderStatus } from '../../src/domain/order.ts';
import { createAdvance } from '../../src/sandbox/advance.ts';

const none = async () => {
  throw new Error('is not asked for');
};

/** Moves an order on that is read before and after as given. */
function advance(before: [OrderStatus, number], after: [OrderStatus, number], to: OrderStatus | null) {
  const reads = [before, after].map(([status, sequence]) => ({ status, sequence, driver_id: 'd1' }));
  const run = createAdvance({
    store: { findStoreOrder: async () => (reads.shift() ?? null) as never, endWait: none, makeDue: async () => false },
    actions: { pickUp: none, deliver: none, undeliverable: none, returned: none },
    redispatch: { giveAtOnce: async () => undefined, expire: none },
    releaseSilent: async () => undefined as never,
    photos: { store: none },
  });
  return run('o1', 'r1', to);
}

test('an order that waits for a driver is not moved on by what is planned for it meanwhile', async () => {
  const outcome = await advance(['pending_dispatch', 3], ['pending_dispatch', 4], null);
  expect(outcome).toEqual({ kind: 'illegal', status: 'pending_dispatch' });
  expect(await advance(['pending_dispatch', 3], ['driver_assigned', 4], null)).toMatchObject({ kind: 'done' });
});

test('a released order that has a driver again was moved on', async () => {
  const outcome = await advance(['driver_assigned', 3], ['driver_assigned', 5], 'pending_dispatch');
  expect(outcome).toEqual({ kind: 'done', status: 'driver_assigned' });
});
