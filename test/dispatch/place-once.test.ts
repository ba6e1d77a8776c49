import { expect, test } from 'vitest';
import { createPlaceOnce } from '../../src/dispatch/place-once.ts';
import type { PlaceOrderOutcome } from '../../src/dispatch/place-order.ts';
import type { EarlierOrder, PlaceOrder } from '../../src/domain/order.ts';
import type { RetailerKey } from '../../src/store/accounts/retailers.ts';
import type { PlacedOrder } from '../../src/store/orders/placed-orders.ts';
import { createLogger } from '../../src/telemetry.ts';

const REQUEST = { customer: {}, dropoffAddress: {}, extras: null } as PlaceOrder;
const keyOf = (retailerId: string) => ({ retailerId }) as RetailerKey;
const STORE = keyOf('store');
const CALLER = { sinceMs: 0, signal: { aborted: false } };
const said = (fingerprint: string, key = 'key') => ({ key, fingerprint });
const orderOf = (id: string) => ({ id }) as EarlierOrder;

type Refusal = Exclude<PlaceOrderOutcome, { kind: 'created' }>['kind'];

/** An operation with given outcomes, `created` by default; each call waits until the test lets it go. */
function world(outcomes: readonly (Refusal | 'created')[] = [], found: () => PlacedOrder | null = () => null) {
  const calls: string[] = [];
  const gates: (() => void)[] = [];
  const placeOnce = createPlaceOnce(
    async (_request, { retailerId }, idempotency) => {
      const n = calls.push(`${retailerId} ${idempotency?.key}`);
      await new Promise<void>((resolve) => gates.push(resolve));
      const kind = outcomes[n - 1] ?? 'created';
      if (kind === 'unserviceable') return { kind, fields: [] };
      return kind === 'created' ? { kind, order: orderOf(`order ${n}`) } : { kind };
    },
    {
      async findPlacedByKeys(_retailerId, [key = '']) {
        const placed = found();
        return new Map(placed ? [[key, placed]] : []);
      },
    },
    createLogger('silent'),
  );
  /** Lets calls go until none waits. */
  async function letAll(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) {
      for (const open of gates.splice(0)) open();
      await new Promise(setImmediate);
    }
  }
  return { calls, placeOnce, letAll };
}

test('of fifty concurrent requests with one key one creates the order, and the others name it', async () => {
  const { placeOnce, calls, letAll } = world();
  const all = Array.from({ length: 50 }, () => placeOnce(REQUEST, STORE, said('same'), CALLER));
  await letAll();
  const outcomes = await Promise.all(all);
  expect(calls).toHaveLength(1);
  expect(outcomes[0]).toEqual({ kind: 'created', order: orderOf('order 1') });
  expect(outcomes.slice(1)).toEqual(Array(49).fill({ kind: 'replayed', order: orderOf('order 1') }));
});

test('a request of other content with the key is refused and named the order', async () => {
  const { placeOnce, calls, letAll } = world();
  const both = [placeOnce(REQUEST, STORE, said('this'), CALLER), placeOnce(REQUEST, STORE, said('that'), CALLER)];
  await letAll();
  expect(await both[1]).toEqual({ kind: 'key_reused', orderId: 'order 1' });
  expect(calls).toHaveLength(1);
});

test('equal keys of two stores are separate, and so are two keys of one store', async () => {
  const { placeOnce, calls, letAll } = world();
  const all = [
    placeOnce(REQUEST, STORE, said('same'), CALLER),
    placeOnce(REQUEST, keyOf('other'), said('same'), CALLER),
    placeOnce(REQUEST, STORE, said('same', 'another'), CALLER),
  ];
  await letAll();
  expect((await Promise.all(all)).map(({ kind }) => kind)).toEqual(['created', 'created', 'created']);
  expect(calls).toHaveLength(3);
});

test('a request without an order does not bind its key: the next one creates the order', async () => {
  const { placeOnce, calls, letAll } = world(['queue_full', 'unserviceable']);
  const all = Array.from({ length: 4 }, () => placeOnce(REQUEST, STORE, said('same'), CALLER));
  await letAll();
  expect((await Promise.all(all)).map(({ kind }) => kind)).toEqual([
    'queue_full',
    'unserviceable',
    'created',
    'replayed',
  ]);
  expect(calls).toHaveLength(3);
});

// An address that was in reach before: the tiers or the table of ZIP codes have changed.
const REFUSALS = [
  'key_used',
  'queue_full',
  'unavailable',
  'outcome_unknown',
  'internal',
  'refused',
  'unserviceable',
] as const;
test.each(REFUSALS)('an order that the key created before is the answer to a request that came to %s', async (kind) => {
  const { placeOnce, letAll } = world([kind], () => ({ order: orderOf('first'), fingerprint: 'same' }));
  const placing = placeOnce(REQUEST, STORE, said('same'), CALLER);
  await letAll();
  expect(await placing).toEqual({ kind: 'replayed', order: orderOf('first') });
});

test('a key that was used for another content before is refused', async () => {
  const { placeOnce, letAll } = world(['key_used'], () => ({ order: orderOf('first'), fingerprint: 'other' }));
  const placing = placeOnce(REQUEST, STORE, said('same'), CALLER);
  await letAll();
  expect(await placing).toEqual({ kind: 'key_reused', orderId: 'first' });
});

test.each(['key_used', 'unserviceable'] as const)(
  'a request that came to %s may be sent again if the order of its key cannot be read',
  async (kind) => {
    const { placeOnce, letAll } = world([kind], () => {
      throw new Error('away');
    });
    const placing = placeOnce(REQUEST, STORE, said('same'), CALLER);
    await letAll();
    expect(await placing).toEqual({ kind: 'unavailable' });
  },
);

test('a dead API key gets nothing of its store’s orders', async () => {
  const { placeOnce, letAll } = world(['unauthorized'], () => ({ order: orderOf('first'), fingerprint: 'same' }));
  const placing = placeOnce(REQUEST, STORE, said('same'), CALLER);
  await letAll();
  expect(await placing).toEqual({ kind: 'unauthorized' });
});
