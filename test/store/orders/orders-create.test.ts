import { expect, onTestFinished, test } from 'vitest';
import { hashSecret, newId } from '../../../src/domain/ids.ts';
import { connect } from '../../../src/postgres/connect.ts';
import type { NewOrder } from '../../../src/store/orders/orders-create.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, draftOrder, orderRow } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { noticesDuring } from '../transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;
const store = await addStoreRow(sql);

const plain = (rows: readonly object[]) => rows.map((row) => ({ ...row }));
const eventsOf = async (orderId: string) =>
  plain(await sql`select sequence, type, data from order_events where order_id = ${orderId} order by 1`);

test('an order with a driver is assigned, owes a charge and a text, and has two events', async () => {
  const driverId = await addDriverRow(sql);
  const order = await draftOrder(sql, store, { driverId });
  const committed = (await storeOf(sql, 'me').insertOrders([order])).get(order.id);
  const row = await orderRow(sql, order.id);
  expect(row).toMatchObject({
    retailer_id: store.retailerId,
    driver_id: driverId,
    status: 'driver_assigned',
    payment_status: 'processing',
    sms_status: 'queued',
    payout_status: 'none',
    delivery_fee_cents: 799,
    driver_payout_cents: 550,
    sequence: 2,
    tracking_token: order.trackingToken,
    pickup_address: 'One Test Square',
    pickup_point_source: 'registered',
    assigned_at: committed?.createdAt,
    created_at: committed?.createdAt,
    expires_at: committed?.expiresAt,
  });
  expect(await eventsOf(order.id)).toEqual([
    { sequence: 1, type: 'created', data: null },
    { sequence: 2, type: 'driver_assigned', data: { driver_id: driverId, distance_meters: 120 } },
  ]);
  expect(
    committed?.outbox.map(({ queue, orderId, retailerId, relays }) => [queue, orderId, retailerId, relays]),
  ).toEqual([
    ['charge', order.id, store.retailerId, 0],
    ['sms', order.id, store.retailerId, 0],
  ]);
});

test('an order without a driver waits uncharged, and its redispatch job is due when its time is up', async () => {
  const order = await draftOrder(sql, store, { smsOptIn: false });
  const committed = (await storeOf(sql, 'me').insertOrders([order])).get(order.id);
  expect(await orderRow(sql, order.id)).toMatchObject({
    driver_id: null,
    status: 'pending_dispatch',
    payment_status: 'not_charged',
    sms_status: 'none',
    sequence: 1,
    assigned_at: null,
  });
  expect(await eventsOf(order.id)).toEqual([{ sequence: 1, type: 'created', data: null }]);
  expect(committed?.outbox.map(({ queue, runAt }) => ({ queue, runAt }))).toEqual([
    { queue: 'redispatch', runAt: committed?.expiresAt },
  ]);
  expect((committed?.expiresAt.getTime() ?? 0) - (committed?.createdAt.getTime() ?? 0)).toBe(86_400_000);
});

test('a text is due some time after its order, in which a cancellation costs none', async () => {
  const order = await draftOrder(sql, store);
  const jobs = { locate: false, smsDelaySeconds: 5 };
  const committed = (await storeOf(sql, 'me').insertOrders([order], jobs)).get(order.id);
  const text = committed?.outbox.find(({ queue }) => queue === 'sms');
  expect((text?.runAt.getTime() ?? 0) - (committed?.createdAt.getTime() ?? 0)).toBe(5_000);
});

test('a new job is left to its process for 30 seconds before the sweeper may take it', async () => {
  const { orderId } = await addOrder(sql, store, { driverId: await addDriverRow(sql) });
  const rows = await sql`
    select extract(epoch from lease_until - run_at)::int as seconds, done_at from outbox where order_id = ${orderId}`;
  expect(plain(rows)).toEqual([
    { seconds: 30, done_at: null },
    { seconds: 30, done_at: null },
  ]);
});

test('an order is created at a whole millisecond, as its reply says', async () => {
  const { orderId } = await addOrder(sql, store);
  const [row] = await sql`
    select created_at = date_trunc('milliseconds', created_at) as whole from orders where id = ${orderId}`;
  expect(row?.whole).toBe(true);
});

test('an order keeps the fee that its tier had at its creation', async () => {
  const { orderId } = await addOrder(sql, store);
  await storeOf(sql, 'test').setTier('standard', { feeCents: 1_234 });
  onTestFinished(async () => void (await storeOf(sql, 'test').setTier('standard', { feeCents: 799 })));
  expect((await orderRow(sql, orderId)).delivery_fee_cents).toBe(799);
});

test.each([
  ['quotes, braces and commas', `O'Neil "Bob" {a,b} \\ back\\slash, NULL`],
  ['a text that is a word of SQL', 'NULL'],
  ['letters of every kind', 'Žofie 王小明 عبد الله José\u0301 👩‍👩‍👧‍👦 ﷽'],
  ['line breaks and tabs', 'one\ntwo\r\n\tthree'],
  ['a text that looks like a statement', `'); drop table orders; --`],
])('%s are stored as they were sent, also beside others', async (_what, text) => {
  const order = await draftOrder(sql, store, { name: text });
  const request = {
    ...order.request,
    pickupAddress: text,
    customer: { ...order.request.customer, email: text },
    dropoffAddress: { line1: text, line2: text, city: text, state: 'CA', zip: '94103-1234' },
  };
  const batch = [await draftOrder(sql, store), { ...order, request }, await draftOrder(sql, store)];
  await storeOf(sql, 'me').insertOrders(batch);
  expect((await orderRow(sql, order.id)).pickup_address).toBe(text);
  expect(plain(await sql`select name, email from customers where id = ${order.customerId}`)).toEqual([
    { name: text, email: text },
  ]);
  expect(
    plain(
      await sql`select id, line1, line2, city, state, zip from dropoff_addresses where id = ${order.dropoffAddressId}`,
    ),
  ).toEqual([{ id: order.dropoffAddressId, line1: text, line2: text, city: text, state: 'CA', zip: '94103-1234' }]);
});

/** Orders that the statement must leave out, each for its own reason. */
async function badOrders(): Promise<Record<string, NewOrder>> {
  const rotated = await addStoreRow(sql);
  await storeOf(sql).rotateKey(rotated.retailerId, { id: newId(), keyHash: hashSecret(newId()) });
  const suspended = await addStoreRow(sql);
  await storeOf(sql).setRetailerStatus(suspended.retailerId, 'suspended');
  const busy = await addDriverRow(sql);
  await addOrder(sql, store, { driverId: busy });
  const offDuty = await addDriverRow(sql);
  await storeOf(sql, 'test').setDriverDuty(offDuty, false);
  const gone = await addDriverRow(sql);
  await storeOf(sql, 'test').deactivateDriver(gone);
  return {
    'a key that was rotated': await draftOrder(sql, rotated),
    'a store that is suspended': await draftOrder(sql, suspended),
    'a key of another store': await draftOrder(sql, { retailerId: store.retailerId, keyId: suspended.keyId }),
    'an unknown store': await draftOrder(sql, { retailerId: newId(), keyId: newId() }),
    'a driver who has an order': await draftOrder(sql, store, { driverId: busy }),
    'a driver off duty': await draftOrder(sql, store, { driverId: offDuty }),
    'a deactivated driver': await draftOrder(sql, store, { driverId: gone }),
    'an unknown driver': await draftOrder(sql, store, { driverId: newId() }),
  };
}

test('bad rows of a batch are left out with their reasons and write nothing; the good ones are created', async () => {
  const bad = await badOrders();
  const free = await addDriverRow(sql);
  const good = [await draftOrder(sql, store), await draftOrder(sql, store, { driverId: free })];
  const [first, second] = good as [NewOrder, NewOrder];
  const batch = [first, ...Object.values(bad), second];
  const committed = await storeOf(sql, 'me').insertOrders(batch);
  expect([...committed.keys()].sort()).toEqual(good.map(({ id }) => id).sort());

  const reasons = await storeOf(sql).explainRefused(Object.values(bad));
  expect(Object.fromEntries(Object.entries(bad).map(([what, { id }]) => [what, reasons.get(id)]))).toEqual({
    'a key that was rotated': 'key_dead',
    'a store that is suspended': 'key_dead',
    'a key of another store': 'key_dead',
    'an unknown store': 'key_dead',
    'a driver who has an order': 'driver_lost',
    'a driver off duty': 'driver_lost',
    'a deactivated driver': 'driver_lost',
    'an unknown driver': 'driver_lost',
  });

  const ids = Object.values(bad).map(({ id }) => id);
  const customers = Object.values(bad).map(({ customerId }) => customerId);
  const addresses = Object.values(bad).map(({ dropoffAddressId }) => dropoffAddressId);
  const [left] = await sql`
    select (select count(*)::int from orders where id = any(${ids}::uuid[])) as orders,
      (select count(*)::int from order_events where order_id = any(${ids}::uuid[])) as events,
      (select count(*)::int from outbox where order_id = any(${ids}::uuid[])) as jobs,
      (select count(*)::int from customers where id = any(${customers}::uuid[])) as customers,
      (select count(*)::int from dropoff_addresses where id = any(${addresses}::uuid[])) as addresses`;
  expect({ ...left }).toEqual({ orders: 0, events: 0, jobs: 0, customers: 0, addresses: 0 });
});

test('a batch without a good row writes nothing and sends no notice', async () => {
  const order = await draftOrder(sql, store, { driverId: newId() });
  const notices = await noticesDuring(database, async () => {
    expect((await storeOf(sql, 'me').insertOrders([order])).size).toBe(0);
  });
  expect(notices).toEqual([]);
});

test('a commit’s notice names the process and the orders', async () => {
  const orders = [await draftOrder(sql, store), await draftOrder(sql, store)];
  const notices = await noticesDuring(database, () => storeOf(sql, 'me').insertOrders(orders));
  const [origin, kind, ids] = notices[0]?.split(':') ?? [];
  expect([notices.length, origin, kind, ids?.split(',').sort()]).toEqual([1, 'me', 'order', orders.map((o) => o.id)]);
});

test('the notices of a large batch name every order, each in less than 8,000 bytes', async () => {
  const orders = await Promise.all(Array.from({ length: 600 }, () => draftOrder(sql, store)));
  const notices = await noticesDuring(database, async () => {
    expect((await storeOf(sql, 'a'.repeat(12)).insertOrders(orders)).size).toBe(600);
  });
  expect(Math.max(...notices.map((notice) => Buffer.byteLength(notice)))).toBeLessThan(8_000);
  const told = notices.flatMap((notice) => notice.split(':')[2]?.split(',') ?? []);
  expect(told.sort()).toEqual(orders.map(({ id }) => id).sort());
});

test('two processes that commit the same drivers in opposite orders do not deadlock', async () => {
  const other = connect({ url: database.url, applicationName: 'other', max: 1 });
  onTestFinished(() => other.end({ timeout: 1 }));
  const drivers = await Promise.all(Array.from({ length: 40 }, () => addDriverRow(sql)));
  const draftAll = (ids: readonly string[]) => Promise.all(ids.map((driverId) => draftOrder(sql, store, { driverId })));
  for (let round = 0; round < 8; round++) {
    const [mine, theirs] = await Promise.all([draftAll(drivers), draftAll([...drivers].reverse())]);
    const results = await Promise.all([
      storeOf(sql, 'me').insertOrders(mine),
      storeOf(other, 'other').insertOrders(theirs),
    ]);
    expect(results.reduce((sum, { size }) => sum + size, 0)).toBe(drivers.length);
    await sql`
      update orders set status = 'delivered' where driver_id = any(${drivers}::uuid[]) and status = 'driver_assigned'`;
  }
});

const keyed = (key: string, fingerprint = 'f') => ({ idempotency: { key, fingerprint } });

test('an idempotency key creates one order of a store, however many are committed at once', async () => {
  const other = await addStoreRow(sql);
  const drivers = await Promise.all([addDriverRow(sql), addDriverRow(sql)]);
  const [first, second] = await Promise.all(
    drivers.map((driverId) => draftOrder(sql, store, { driverId, ...keyed('one') })),
  );
  const elsewhere = await draftOrder(sql, other, keyed('one'));
  const created = await Promise.all(
    [first, second, elsewhere].map((order) => storeOf(sql, 'me').insertOrders([order as NewOrder])),
  );
  expect(created.map(({ size }) => size).toSorted()).toEqual([0, 1, 1]);
  expect(created[2]?.size).toBe(1);
  const refused = (created[0]?.size === 0 ? first : second) as NewOrder;
  expect(await storeOf(sql).explainRefused([refused])).toEqual(new Map([[refused.id, 'key_used']]));
});

const findPlaced = async ({ retailerId }: { readonly retailerId: string }, key: string) =>
  (await storeOf(sql).findPlacedByKeys(retailerId, [key])).get(key);

test('the order of a key is found as it was created, with its present payment status', async () => {
  const driverId = await addDriverRow(sql);
  const { orderId, order } = await addOrder(sql, store, { driverId, ...keyed('assigned', 'print') });
  await sql`update orders set status = 'delivered', payment_status = 'paid' where id = ${orderId}`;
  expect(await findPlaced(store, 'assigned')).toEqual({
    fingerprint: 'print',
    order: {
      id: orderId,
      status: 'driver_assigned',
      tierId: 'standard',
      feeCents: 799,
      paymentStatus: 'paid',
      trackingToken: order.trackingToken,
      createdAt: expect.any(Date),
      externalId: null,
      deliverBy: expect.any(Date),
      // The draft's dropoff has no place.
      estimatedDelivery: null,
      isForLater: false,
      statusNow: 'delivered',
      isPlanned: false,
    },
  });
  const waiting = await addOrder(sql, store, keyed('waiting'));
  await sql`update orders set status = 'driver_assigned', driver_id = ${newId()} where id = ${waiting.orderId}`;
  await sql`insert into order_events (order_id, sequence, type) values (${waiting.orderId}, 2, 'driver_assigned')`;
  expect((await findPlaced(store, 'waiting'))?.order.status).toBe('pending_dispatch');
  expect(await findPlaced(store, 'unknown')).toBeUndefined();
  expect(await findPlaced(await addStoreRow(sql), 'assigned')).toBeUndefined();
});

test('the orders of many keys are found at once, and no other store’s', async () => {
  const mine = await addStoreRow(sql);
  const [one, two] = [await addOrder(sql, mine, keyed('1')), await addOrder(sql, mine, keyed('2'))];
  await addOrder(sql, await addStoreRow(sql), keyed('3'));
  const found = await storeOf(sql).findPlacedByKeys(mine.retailerId, ['1', '2', '3']);
  expect([...found].map(([key, { order }]) => [key, order.id]).toSorted()).toEqual([
    ['1', one.orderId],
    ['2', two.orderId],
  ]);
});

test('a dead API key comes before a used idempotency key', async () => {
  const dying = await addStoreRow(sql);
  await addOrder(sql, dying, keyed('one'));
  const again = await draftOrder(sql, dying, keyed('one'));
  await storeOf(sql).setRetailerStatus(dying.retailerId, 'suspended');
  expect((await storeOf(sql, 'me').insertOrders([again])).size).toBe(0);
  expect(await storeOf(sql).explainRefused([again])).toEqual(new Map([[again.id, 'key_dead']]));
});
