import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { connect } from '../../src/postgres/connect.ts';
import { commitsName } from '../../src/store/dedup-claims.ts';
import type { NewOrder } from '../../src/store/orders-create.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { addDriverRow, addStoreRow, draftOrder, orderRow, type TestStore } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { openTransaction, untilBlocked } from './transaction.ts';

let database: FreshDatabase;
let store: TestStore;
beforeAll(async () => {
  database = await freshDatabase();
  store = await addStoreRow(database.sql);
});
afterAll(() => database.drop());

let said = 0;
const sayNew = (): string => `fingerprint ${++said}`;
const draft = (fingerprint: string, driverId: string | null = null): Promise<NewOrder> =>
  draftOrder(database.sql, store, { driverId, idempotency: { key: null, fingerprint } });
const insert = async (orders: readonly NewOrder[], processId: string): Promise<('made' | 'repeated' | 'missing')[]> => {
  const inserted = await storeOf(database.sql, processId).insertOrders(orders);
  return orders.map(({ id }) => (inserted.get(id) ? 'made' : inserted.has(id) ? 'repeated' : 'missing'));
};
const age = (fingerprint: string, by: string) =>
  database.sql`update unheard_requests set at = at - ${by}::interval where fingerprint = ${fingerprint}`;

test('equal requests of one process are orders of their own, in one batch and in two', async () => {
  const said = sayNew();
  expect(await insert([await draft(said), await draft(said)], 'a')).toEqual(['made', 'made']);
  expect(await insert([await draft(said)], 'a')).toEqual(['made']);
});

test('an equal request of another process makes nothing until the first was answered; others of its batch do', async () => {
  const { sql } = database;
  const said = sayNew();
  const first = await draft(said);
  await insert([first], 'a');
  const driverId = await addDriverRow(sql);
  const second = await draft(said, driverId);
  expect(await insert([await draft(sayNew()), second, await draft(sayNew())], 'b')).toEqual([
    'made',
    'repeated',
    'made',
  ]);
  expect(await orderRow(sql, second.id)).toEqual({});
  expect(await storeOf(sql).findEarlierRequest(said)).toMatchObject({
    processId: 'a',
    orderId: first.id,
    abandoned: [],
  });
  await storeOf(sql, 'b').releaseRequests([said]);
  expect(await insert([second], 'b')).toEqual(['repeated']);
  await storeOf(sql, 'a').releaseRequests([said]);
  expect(await insert([second], 'b')).toEqual(['made']);
});

test('an equal request waits for the commit of the first, and goes on where that was rolled back', async () => {
  const said = sayNew();
  const [first, second] = [await draft(said), await draft(said)];
  const inFlight = await openTransaction(database);
  await storeOf(inFlight.sql, 'a').insertOrders([first]);
  const later = insert([second], 'b');
  await untilBlocked(database);
  await inFlight.rollback();
  expect(await later).toEqual(['made']);
});

test('an equal request of another process that commits at the same moment is seen', async () => {
  const said = sayNew();
  const [first, second] = [await draft(said), await draft(said)];
  const inFlight = await openTransaction(database);
  await storeOf(inFlight.sql, 'a').insertOrders([first]);
  const later = insert([second], 'b');
  await untilBlocked(database);
  await inFlight.commit();
  expect(await later).toEqual(['repeated']);
});

test('an order that was left stands in the way of every equal request, also after a release and at its own process', async () => {
  const { sql } = database;
  const said = sayNew();
  const first = await draft(said);
  await insert([first], 'a');
  await storeOf(sql, 'a').recordUndelivered(said, first.id);
  await storeOf(sql, 'a').recordUndelivered(said, first.id);
  await storeOf(sql, 'a').releaseRequests([said]);
  expect(await storeOf(sql).findEarlierRequest(said)).toMatchObject({ abandoned: [first.id] });
  expect(await insert([await draft(said)], 'a')).toEqual(['repeated']);
  expect(await insert([await draft(said)], 'b')).toEqual(['repeated']);
});

test('a process is alive for as long as it has a connection for its commits', async () => {
  const said = sayNew();
  const commits = connect({ url: database.url, applicationName: commitsName('living'), max: 1 });
  await storeOf(commits, 'living').insertOrders([await draft(said)]);
  expect(await storeOf(database.sql).findEarlierRequest(said)).toMatchObject({ processId: 'living', isAlive: true });
  await commits.end({ timeout: 5 });
  await expect
    .poll(() => storeOf(database.sql).findEarlierRequest(said))
    .toMatchObject({ processId: 'living', isAlive: false });
});

test('an order that was left before its commit is not made any more', async () => {
  const { sql } = database;
  const said = sayNew();
  const order = await draft(said);
  await storeOf(sql, 'a').recordUndelivered(said, order.id);
  expect(await insert([order], 'a')).toEqual(['repeated']);
  await storeOf(sql).resolveUnknown([order]);
  expect(await storeOf(sql).findPlacedById(order.id)).toBeNull();
  await storeOf(sql).forgetUndelivered(said, order.id);
  expect(await storeOf(sql).findEarlierRequest(said)).toBeNull();
});

test('a repeat takes an order that was left, once; left again it is remembered again, answered it is done', async () => {
  const { sql } = database;
  const said = sayNew();
  const first = await draft(said);
  await insert([first], 'a');
  await storeOf(sql, 'a').recordUndelivered(said, first.id);
  expect(await storeOf(sql, 'b').adoptUndelivered(said, first.id, 'a')).toBe(true);
  expect(await storeOf(sql, 'c').adoptUndelivered(said, first.id, 'a')).toBe(false);
  expect(await insert([await draft(said)], 'c')).toEqual(['repeated']);
  await storeOf(sql, 'b').recordUndelivered(said, first.id);
  expect(await storeOf(sql, 'c').adoptUndelivered(said, first.id, 'b')).toBe(true);
  await storeOf(sql, 'c').releaseRequests([said]);
  expect(await insert([await draft(said)], 'a')).toEqual(['made']);
});

test('of two orders that were left each is taken by a repeat of its own', async () => {
  const { sql } = database;
  const said = sayNew();
  const [first, second] = [await draft(said), await draft(said)];
  await insert([first, second], 'a');
  for (const { id } of [first, second]) await storeOf(sql, 'a').recordUndelivered(said, id);
  expect(await storeOf(sql, 'b').adoptUndelivered(said, first.id, 'a')).toBe(true);
  await storeOf(sql, 'b').releaseRequests([said]);
  expect(await storeOf(sql).findEarlierRequest(said)).toMatchObject({ abandoned: [second.id] });
  await storeOf(sql).forgetUndelivered(said, second.id);
  expect(await storeOf(sql).findEarlierRequest(said)).toBeNull();
});

test('forgetting one of two that were left keeps the other', async () => {
  const { sql } = database;
  const said = sayNew();
  const [first, second] = [newId(), newId()];
  await storeOf(sql, 'a').recordUndelivered(said, first);
  await storeOf(sql, 'b').recordUndelivered(said, second);
  await storeOf(sql).forgetUndelivered(said, first);
  expect(await storeOf(sql).findEarlierRequest(said)).toMatchObject({ abandoned: [second] });
});

test('the order of a process that died can be taken, by one', async () => {
  const { sql } = database;
  const said = sayNew();
  const first = await draft(said);
  await insert([first], 'dead');
  expect(await storeOf(sql, 'b').adoptUndelivered(said, first.id, 'dead')).toBe(true);
  expect(await storeOf(sql, 'c').adoptUndelivered(said, first.id, 'dead')).toBe(false);
});

test('after ten minutes nothing stands in the way, and what is as old is deleted', async () => {
  const { sql } = database;
  const [old, pruned] = [sayNew(), sayNew()];
  for (const said of [old, pruned]) {
    await storeOf(sql, 'a').recordUndelivered(said, newId());
    expect(await insert([await draft(said)], 'b')).toEqual(['repeated']);
    await age(said, '601 s');
  }
  expect(await insert([await draft(old)], 'b')).toEqual(['made']);
  expect(await storeOf(sql).pruneRequests(1_000)).toBe(1);
  expect(await storeOf(sql).findEarlierRequest(pruned)).toBeNull();
  expect(await storeOf(sql).findEarlierRequest(old)).toMatchObject({ processId: 'b', abandoned: [] });
});

test('an order as it was made is found by its id', async () => {
  const driverId = await addDriverRow(database.sql);
  const order = await draft(sayNew(), driverId);
  await insert([order], 'a');
  await database.sql`update orders set status = 'picked_up', payment_status = 'paid' where id = ${order.id}`;
  expect(await storeOf(database.sql).findPlacedById(order.id)).toMatchObject({
    id: order.id,
    status: 'driver_assigned',
    paymentStatus: 'paid',
    trackingToken: order.trackingToken,
  });
});

test('a request that repeats is explained as nothing else is wrong with it', async () => {
  const said = sayNew();
  await insert([await draft(said)], 'a');
  const again = await draft(said);
  expect(await insert([again], 'b')).toEqual(['repeated']);
  expect([...(await storeOf(database.sql).explainRefused([again])).values()]).toEqual(['driver_lost']);
});

test('commits and releases of the same requests, the other way round, never deadlock', async () => {
  const other = connect({ url: database.url, applicationName: 'other', max: 2 });
  const all = Array.from({ length: 100 }, sayNew);
  for (let round = 0; round < 5; round++) {
    const [mine, theirs] = await Promise.all([
      Promise.all(all.map((said) => draft(said))),
      Promise.all([...all].reverse().map((said) => draft(said))),
    ]);
    await Promise.all([
      storeOf(database.sql, 'a').insertOrders(mine),
      storeOf(other, 'b').insertOrders(theirs),
      storeOf(other, 'a').releaseRequests([...all].reverse()),
      storeOf(database.sql, 'b').releaseRequests(all),
    ]);
  }
  await other.end({ timeout: 1 });
});
