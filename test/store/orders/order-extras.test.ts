import { expect, test } from 'vitest';
import { identityOf } from '../../../src/domain/idempotency.ts';
import { newId } from '../../../src/domain/ids.ts';
import type { OrderExtras } from '../../../src/domain/order.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addOrder, addStoreRow, draftOrder, orderRow } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';

const { sql } = await useFreshDatabase();
const store = await addStoreRow(sql);

const EXTRAS: OrderExtras = {
  externalId: `A-1 {"\\}, 'NULL' ﷽`,
  metadata: { cart: 'a "b" \\ c', 'x.y': 'one\ntwo', ['__proto__']: 'p' },
  items: [
    { name: 'Lamp {"}\\', quantity: 2 },
    { name: '王', quantity: 999 },
  ],
  pickupInstructions: 'Back door\nAsk for Jo',
  dropoffInstructions: "'); drop table orders; --",
  leaveAtDoor: true,
  readyAt: new Date('2030-01-31T17:00:00.001Z'),
  deliverAfter: new Date('2030-01-31T18:00:00Z'),
  deliverBy: new Date('2030-01-31T20:00:00Z'),
  size: 'large',
  scenario: null,
};
const COLUMNS = [
  'external_id',
  'metadata',
  'items',
  'pickup_instructions',
  'dropoff_instructions',
  'leave_at_door',
] as const;
async function fieldsOf(orderId: string) {
  const row = await orderRow(sql, orderId);
  return COLUMNS.map((name) => row[name]);
}
const NONE = [null, null, null, null, null, false];

test('the optional fields are stored as they were sent, beside orders that have none or one', async () => {
  const alone = { ...EXTRAS, metadata: {}, items: [], externalId: null, pickupInstructions: null, leaveAtDoor: false };
  const drafts = [
    await draftOrder(sql, store),
    await draftOrder(sql, store, { extras: EXTRAS }),
    await draftOrder(sql, store, { extras: alone }),
    await draftOrder(sql, store),
  ];
  expect((await storeOf(sql, 'me').insertOrders(drafts)).size).toBe(4);
  const [plain, full, some, last] = await Promise.all(drafts.map(({ id }) => fieldsOf(id)));
  expect([plain, last]).toEqual([NONE, NONE]);
  expect(full?.map((field) => JSON.stringify(field))).toEqual([
    JSON.stringify(EXTRAS.externalId),
    // jsonb sorts keys by their length.
    '{"x.y":"one\\ntwo","cart":"a \\"b\\" \\\\ c","__proto__":"p"}',
    // and so name and quantity
    '[{"name":"Lamp {\\"}\\\\","quantity":2},{"name":"王","quantity":999}]',
    JSON.stringify(EXTRAS.pickupInstructions),
    JSON.stringify(EXTRAS.dropoffInstructions),
    'true',
  ]);
  expect(some).toEqual([null, null, null, null, EXTRAS.dropoffInstructions, false]);
});

test('a keyed order has the fingerprint of its request, and one of before migration 0019 its first part', async () => {
  for (const extras of [null, EXTRAS]) {
    const draft = await draftOrder(sql, store, extras ? { extras } : {});
    const key = newId();
    const idempotency = identityOf(draft.request, key);
    await storeOf(sql).insertOrders([{ ...draft, idempotency }]);
    const find = async () => (await storeOf(sql).findPlacedByKeys(store.retailerId, [key])).get(key);
    const found = await find();
    expect(found?.fingerprint).toBe(idempotency.fingerprint);
    expect(found?.order.externalId).toBe(extras?.externalId ?? null);
    const first = identityOf({ ...draft.request, extras: null }, null).fingerprint;
    await sql`update orders set extras_fingerprint = null where id = ${draft.id}`;
    expect((await find())?.fingerprint).toBe(first);
  }
});

test('an order without a key stores no fingerprint', async () => {
  const draft = await draftOrder(sql, store, { extras: EXTRAS });
  const idempotency = identityOf(draft.request, null);
  const { orderId } = await addOrder(sql, store, { extras: EXTRAS, idempotency });
  const { request_fingerprint, extras_fingerprint } = await orderRow(sql, orderId);
  expect([request_fingerprint, extras_fingerprint]).toEqual([null, null]);
});
