import { expect, test } from 'vitest';
import type { OrderStatus } from '../../src/domain/order.ts';
import { createAdvance } from '../../src/sandbox/advance.ts';

const NOW_MS = Date.parse('2026-11-22T13:41:00Z');
type Change = { readonly isReleased?: boolean; readonly deliverAfter?: Date };

/** Moves an order on that is read before and after as given; each step changes nothing by itself. */
function advance(before: OrderStatus, after: OrderStatus, to: OrderStatus | null, change: Change = {}) {
  const { isReleased = false, deliverAfter = null } = change;
  const reads = [before, after].map((status) => ({ status, driver_id: 'd1', deliver_after: deliverAfter }));
  const tooLate = async () => ({ kind: 'illegal', status: after }) as const;
  const run = createAdvance({
    store: {
      findStoreOrder: async () => (reads.shift() ?? null) as never,
      endWait: async () => true,
      makeDue: async () => before === 'pending_dispatch' && to === null && deliverAfter !== null,
    },
    actions: { pickUp: tooLate, deliver: tooLate, undeliverable: tooLate, returned: tooLate },
    redispatch: { giveAtOnce: async () => undefined, expire: async () => undefined },
    releaseSilent: async () => isReleased,
    photos: { store: async () => ({ kind: 'stored', name: 'photo.jpg', isBlank: false }) },
    clock: { now: () => NOW_MS },
  });
  return run('o1', 'r1', to);
}

test('an order that waits for a driver is not moved on by what is planned for it meanwhile', async () => {
  const outcome = await advance('pending_dispatch', 'pending_dispatch', null);
  expect(outcome).toEqual({ kind: 'illegal', status: 'pending_dispatch' });
  expect(await advance('pending_dispatch', 'driver_assigned', null)).toMatchObject({ kind: 'done' });
});

test('a released order that has a driver again was moved on', async () => {
  const outcome = await advance('driver_assigned', 'driver_assigned', 'pending_dispatch', { isReleased: true });
  expect(outcome).toEqual({ kind: 'done', status: 'driver_assigned' });
  expect(await advance('driver_assigned', 'driver_assigned', 'pending_dispatch')).toMatchObject({ kind: 'illegal' });
});

test.each<[OrderStatus, OrderStatus | null]>([
  ['pending_dispatch', null],
  ['pending_dispatch', 'expired'],
  ['driver_assigned', null],
  ['driver_assigned', 'pending_dispatch'],
])('a cancellation that is faster than %s to %s makes it illegal', async (before, to) => {
  expect(await advance(before, 'cancelled', to)).toEqual({ kind: 'illegal', status: 'cancelled' });
  const deliverAfter = new Date(NOW_MS + 1);
  expect(await advance(before, 'cancelled', to, { deliverAfter })).toMatchObject({ kind: 'illegal' });
});

test('an order is handed over before its window only where that is asked for', async () => {
  const deliverAfter = new Date(NOW_MS + 1);
  const early = await advance('picked_up', 'delivered', null, { deliverAfter });
  expect(early).toEqual({ kind: 'too_early', deliverAfter });
  expect(await advance('picked_up', 'delivered', 'delivered', { deliverAfter })).toMatchObject({ kind: 'done' });
  expect(await advance('picked_up', 'delivered', null, { deliverAfter: new Date(NOW_MS) })).toMatchObject({
    kind: 'done',
  });
});
