import { expect, test } from 'vitest';
import { createFindReplays } from '../../src/dispatch/replays.ts';
import { identityOf } from '../../src/domain/idempotency.ts';
import type { EarlierOrder, PlaceOrder } from '../../src/domain/order.ts';

const requestOf = (pickupAddress: string) =>
  ({ customer: {}, dropoffAddress: {}, pickupAddress, extras: null }) as PlaceOrder;
const SENT = requestOf('2000 Mission St');

test('the same order is its replay with why it waits now, another one is told the order, a new key is nothing', async () => {
  const order = { id: 'order', statusNow: 'pending_dispatch' } as EarlierOrder;
  const placed = { order, fingerprint: identityOf(SENT, 'same').fingerprint };
  const asked: unknown[] = [];
  const findReplays = createFindReplays(
    {
      async findPlacedByKeys(retailerId, keys) {
        asked.push([retailerId, keys]);
        return new Map(['same', 'other'].map((key) => [key, placed]));
      },
    },
    { whyWaiting: () => 'all_drivers_busy' },
  );
  const requests = [
    { order: SENT, key: 'same' },
    { order: requestOf('1 Market St'), key: 'other' },
    { order: SENT, key: 'new' },
  ];
  expect([...(await findReplays('store', requests))]).toEqual([
    ['same', { kind: 'replayed', order: { ...order, waitingBecause: 'all_drivers_busy' } }],
    ['other', { kind: 'key_reused', orderId: 'order' }],
  ]);
  expect(asked).toEqual([['store', ['same', 'other', 'new']]]);
});
