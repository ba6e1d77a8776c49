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

let fingerprints = 0;
const newFingerprint = (): string => `fingerprint ${++fingerprints}`;
const draft = (fingerprint: string, driverId: string | null = null): Promise<NewOrder> =>
  draftOrder(database.sql, store, { driverId, idempotency: { key: null, fingerprint } });
const insert = async (orders: readonly NewOrder[], processId: string): Promise<('made' | 'repeated' | 'missing')[]> => {
  const inserted = await storeOf(database.sql, processId).insertOrders(orders);
  return orders.map(({ id }) => (inserted.get(id) ? 'made' : inserted.has(id) ? 'repeated' : 'missing'));
};
const age = (fingerprint: string, by: string) =>
  database.sql`update unheard_requests set at = at - ${by}::interval where fingerprint = ${fingerprint}`;

test('equal requests of one process are separate orders, in one batch and in two', async () => {
  const fingerprint = newFingerprint();
  expect(await insert([await draft(fingerprint), await draft(fingerprint)], 'a')).toEqual(['made', 'made']);
  expect(await insert([await draft(fingerprint)], 'a')).toEqual(['made']);
});

test('an equal request of another process creates no order until the first is answered; its batch does', async () => {
  const { sql } = database;
  const fingerprint = newFingerprint();
  const first = await draft(fingerprint);
  await insert([first], 'a');
  const driverId = await addDriverRow(sql);
  const second = await draft(fingerprint, driverId);
  expect(await insert([await draft(newFingerprint()), second, await draft(newFingerprint())], 'b')).toEqual([
    'made',
    'repeated',
    'made',
  ]);
  expect(await orderRow(sql, second.id)).toEqual({});
  expect(await storeOf(sql).findEarlierRequest(fingerprint)).toMatchObject({
    processId: 'a',
    orderId: first.id,
    abandoned: [],
  });
  await storeOf(sql, 'b').releaseRequests([fingerprint]);
  expect(await insert([second], 'b')).toEqual(['repeated']);
  await storeOf(sql, 'a').releaseRequests([fingerprint]);
  expect(await insert([second], 'b')).toEqual(['made']);
});

test('an equal request waits for the commit of the first, and goes on if that is rolled back', async () => {
  const fingerprint = newFingerprint();
  const [first, second] = [await draft(fingerprint), await draft(fingerprint)];
  const inFlight = await openTransaction(database);
  await storeOf(inFlight.sql, 'a').insertOrders([first]);
  const later = insert([second], 'b');
  await untilBlocked(database);
  await inFlight.rollback();
  expect(await later).toEqual(['made']);
});

test('an equal request is refused while another process commits the first', async () => {
  const fingerprint = newFingerprint();
  const [first, second] = [await draft(fingerprint), await draft(fingerprint)];
  const inFlight = await openTransaction(database);
  await storeOf(inFlight.sql, 'a').insertOrders([first]);
  const later = insert([second], 'b');
  await untilBlocked(database);
  await inFlight.commit();
  expect(await later).toEqual(['repeated']);
});

test('a lost reply blocks every equal request, also after a release and at its own process', async () => {
  const { sql } = database;
  const fingerprint = newFingerprint();
  const first = await draft(fingerprint);
  await insert([first], 'a');
  await storeOf(sql, 'a').recordUndelivered(fingerprint, first.id);
  await storeOf(sql, 'a').recordUndelivered(fingerprint, first.id);
  await storeOf(sql, 'a').releaseRequests([fingerprint]);
  expect(await storeOf(sql).findEarlierRequest(fingerprint)).toMatchObject({ abandoned: [first.id] });
  expect(await insert([await draft(fingerprint)], 'a')).toEqual(['repeated']);
  expect(await insert([await draft(fingerprint)], 'b')).toEqual(['repeated']);
});

test('a process is alive while it has a commit connection', async () => {
  const fingerprint = newFingerprint();
  const commits = connect({ url: database.url, applicationName: commitsName('living'), max: 1 });
  await storeOf(commits, 'living').insertOrders([await draft(fingerprint)]);
  expect(await storeOf(database.sql).findEarlierRequest(fingerprint)).toMatchObject({
    processId: 'living',
    isAlive: true,
  });
  await commits.end({ timeout: 5 });
  await expect
    .poll(() => storeOf(database.sql).findEarlierRequest(fingerprint))
    .toMatchObject({ processId: 'living', isAlive: false });
});

test('an order whose reply was lost before its commit is not created any more', async () => {
  const { sql } = database;
  const fingerprint = newFingerprint();
  const order = await draft(fingerprint);
  await storeOf(sql, 'a').recordUndelivered(fingerprint, order.id);
  expect(await insert([order], 'a')).toEqual(['repeated']);
  await storeOf(sql).resolveUnknown([order]);
  expect(await storeOf(sql).findPlacedById(order.id)).toBeNull();
  await storeOf(sql).forgetUndelivered(fingerprint, order.id);
  expect(await storeOf(sql).findEarlierRequest(fingerprint)).toBeNull();
});

test('a repeated request claims the order of a lost reply once, and again if its reply is lost too', async () => {
  const { sql } = database;
  const fingerprint = newFingerprint();
  const first = await draft(fingerprint);
  await insert([first], 'a');
  await storeOf(sql, 'a').recordUndelivered(fingerprint, first.id);
  expect(await storeOf(sql, 'b').adoptUndelivered(fingerprint, first.id, 'a')).toBe(true);
  expect(await storeOf(sql, 'c').adoptUndelivered(fingerprint, first.id, 'a')).toBe(false);
  expect(await insert([await draft(fingerprint)], 'c')).toEqual(['repeated']);
  await storeOf(sql, 'b').recordUndelivered(fingerprint, first.id);
  expect(await storeOf(sql, 'c').adoptUndelivered(fingerprint, first.id, 'b')).toBe(true);
  await storeOf(sql, 'c').releaseRequests([fingerprint]);
  expect(await insert([await draft(fingerprint)], 'a')).toEqual(['made']);
});

test('each of two lost replies is claimed by its own repeated request', async () => {
  const { sql } = database;
  const fingerprint = newFingerprint();
  const [first, second] = [await draft(fingerprint), await draft(fingerprint)];
  await insert([first, second], 'a');
  for (const { id } of [first, second]) await storeOf(sql, 'a').recordUndelivered(fingerprint, id);
  expect(await storeOf(sql, 'b').adoptUndelivered(fingerprint, first.id, 'a')).toBe(true);
  await storeOf(sql, 'b').releaseRequests([fingerprint]);
  expect(await storeOf(sql).findEarlierRequest(fingerprint)).toMatchObject({ abandoned: [second.id] });
  await storeOf(sql).forgetUndelivered(fingerprint, second.id);
  expect(await storeOf(sql).findEarlierRequest(fingerprint)).toBeNull();
});

test('forgetting one of two lost replies keeps the other', async () => {
  const { sql } = database;
  const fingerprint = newFingerprint();
  const [first, second] = [newId(), newId()];
  await storeOf(sql, 'a').recordUndelivered(fingerprint, first);
  await storeOf(sql, 'b').recordUndelivered(fingerprint, second);
  await storeOf(sql).forgetUndelivered(fingerprint, first);
  expect(await storeOf(sql).findEarlierRequest(fingerprint)).toMatchObject({ abandoned: [second] });
});

test('the order of a dead process can be claimed once', async () => {
  const { sql } = database;
  const fingerprint = newFingerprint();
  const first = await draft(fingerprint);
  await insert([first], 'dead');
  expect(await storeOf(sql, 'b').adoptUndelivered(fingerprint, first.id, 'dead')).toBe(true);
  expect(await storeOf(sql, 'c').adoptUndelivered(fingerprint, first.id, 'dead')).toBe(false);
});

test('after ten minutes nothing is blocked, and the row is deleted', async () => {
  const { sql } = database;
  const [old, pruned] = [newFingerprint(), newFingerprint()];
  for (const fingerprint of [old, pruned]) {
    await storeOf(sql, 'a').recordUndelivered(fingerprint, newId());
    expect(await insert([await draft(fingerprint)], 'b')).toEqual(['repeated']);
    await age(fingerprint, '601 s');
  }
  expect(await insert([await draft(old)], 'b')).toEqual(['made']);
  expect(await storeOf(sql).pruneRequests(1_000)).toBe(1);
  expect(await storeOf(sql).findEarlierRequest(pruned)).toBeNull();
  expect(await storeOf(sql).findEarlierRequest(old)).toMatchObject({ processId: 'b', abandoned: [] });
});

test('an order is found by its id as it was created', async () => {
  const driverId = await addDriverRow(database.sql);
  const order = await draft(newFingerprint(), driverId);
  await insert([order], 'a');
  await database.sql`update orders set status = 'picked_up', payment_status = 'paid' where id = ${order.id}`;
  expect(await storeOf(database.sql).findPlacedById(order.id)).toMatchObject({
    id: order.id,
    status: 'driver_assigned',
    paymentStatus: 'paid',
    trackingToken: order.trackingToken,
  });
});

test('a repeated request is explained as a lost driver if nothing else is wrong with it', async () => {
  const fingerprint = newFingerprint();
  await insert([await draft(fingerprint)], 'a');
  const again = await draft(fingerprint);
  expect(await insert([again], 'b')).toEqual(['repeated']);
  expect([...(await storeOf(database.sql).explainRefused([again])).values()]).toEqual(['driver_lost']);
});

test('commits and releases of the same requests in opposite orders do not deadlock', async () => {
  const other = connect({ url: database.url, applicationName: 'other', max: 2 });
  const all = Array.from({ length: 100 }, newFingerprint);
  for (let round = 0; round < 5; round++) {
    const [mine, theirs] = await Promise.all([
      Promise.all(all.map((fingerprint) => draft(fingerprint))),
      Promise.all([...all].reverse().map((fingerprint) => draft(fingerprint))),
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
