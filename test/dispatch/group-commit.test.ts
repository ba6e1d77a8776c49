import { afterAll, beforeAll, expect, test } from 'vitest';
import { ASSUMED_ORDER_RATE, CommitBacklog } from '../../src/dispatch/commit-backlog.ts';
import type { CommitOutcome } from '../../src/dispatch/commit-batch.ts';
import { type Caller, createGroupCommit, type GroupCommit } from '../../src/dispatch/group-commit.ts';
import { hashSecret, newId } from '../../src/domain/ids.ts';
import { connect } from '../../src/postgres/connect.ts';
import type { NewOrder } from '../../src/store/orders/orders-create.ts';
import type { Store } from '../../src/store/store.ts';
import { createLogger } from '../../src/telemetry.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, draftOrder, orderRow, type TestStore } from '../harness/orders.ts';
import { STEP_MS } from '../harness/patience.ts';
import { storeOf } from '../harness/store.ts';
import { gate } from '../http/support.ts';

let database: FreshDatabase;
let store: TestStore;
const logger = createLogger('silent');
const bounds = {
  maxBatch: 64,
  maxInFlight: 2,
  slowMs: 60_000,
  maxWaitMs: 60_000,
  resolveMs: 3_000,
  resolvePauseMs: 20,
  gatherMs: 60_000,
};

beforeAll(async () => {
  database = await freshDatabase({ max: 10 });
  store = await addStoreRow(database.sql);
});
afterAll(() => database.drop());

/** A group commit on a store, the backlog, and what the test controls. */
function open(
  tables: Pick<Store, 'insertOrders' | 'explainRefused' | 'resolveUnknown'>,
  changes: Partial<typeof bounds> = {},
) {
  const backlog = new CommitBacklog();
  const took: number[] = [];
  const around = { isAway: false };
  const parts = {
    store: tables,
    database: { isAway: () => around.isAway },
    backlog,
    pace: { orderTook: (ms: number) => void took.push(ms) },
    orderJobs: { locate: false, smsDelaySeconds: 0 },
  };
  return { groupCommit: createGroupCommit(parts, { ...bounds, ...changes }, logger), backlog, took, around };
}

/** A group commit on the real statements, which the test counts and can hold back. */
function world(changes: Partial<typeof bounds> = {}) {
  const real = storeOf(database.sql);
  const seen = { inserts: [] as number[], inFlight: 0, mostInFlight: 0 };
  let held: Promise<unknown> = Promise.resolve();
  const counted: Store = {
    ...real,
    async insertOrders(orders, jobs) {
      seen.inserts.push(orders.length);
      seen.mostInFlight = Math.max(seen.mostInFlight, ++seen.inFlight);
      await held;
      return real.insertOrders(orders, jobs).finally(() => {
        seen.inFlight--;
      });
    },
  };
  return {
    ...open(counted, changes),
    seen,
    hold: () => {
      const { opened, open } = gate();
      held = opened;
      return open;
    },
  };
}

const caller = (): Caller => ({ sinceMs: performance.now(), signal: { aborted: false } });
const drafts = (count: number) => Promise.all(Array.from({ length: count }, () => draftOrder(database.sql, store)));
const commitAll = (groupCommit: GroupCommit, orders: readonly NewOrder[]): Promise<CommitOutcome[]> =>
  Promise.all(orders.map((order) => groupCommit.commit(order, caller())));
const kinds = (outcomes: readonly CommitOutcome[]) => outcomes.map((outcome) => outcome.kind);

test('orders that arrive while a commit is in flight share the next one', async () => {
  const { groupCommit, backlog, seen, hold } = world();
  const release = hold();
  const orders = await drafts(20);
  const first = commitAll(groupCommit, orders.slice(0, 1));
  await expect.poll(() => seen.inFlight).toBe(1);
  const rest = commitAll(groupCommit, orders.slice(1));
  expect(backlog.orders).toBe(20);
  release();
  expect(kinds([...(await first), ...(await rest)])).toEqual(Array(20).fill('created'));
  expect(seen.inserts).toEqual([1, 19]);
  expect(seen.mostInFlight).toBe(1);
  expect(backlog.orders).toBe(0);
});

test('a single order after a large batch says nothing of the rate', async () => {
  const { groupCommit, backlog } = world({ maxBatch: 100 });
  await commitAll(groupCommit, await drafts(100));
  await commitAll(groupCommit, await drafts(1));
  expect(backlog.ratePerSecond).toBe(ASSUMED_ORDER_RATE);
});

test('a commit that stores nothing says nothing of the rate', async () => {
  const real = storeOf(database.sql);
  const locked = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });
  const inserts = [real.insertOrders, () => Promise.reject(locked)];
  const insertOrders: Store['insertOrders'] = (...batch) => (inserts.shift() ?? real.insertOrders)(...batch);
  const { groupCommit, backlog } = open({ ...real, insertOrders });
  const outcomes = await commitAll(groupCommit, await drafts(128));
  expect(kinds(outcomes)).toEqual([...Array(64).fill('created'), ...Array(64).fill('unavailable')]);
  expect(backlog.ratePerSecond).toBe(ASSUMED_ORDER_RATE);
});

test('a second commit starts beside a slow one, and no third beside two', async () => {
  const { groupCommit, backlog, seen, hold } = world({ slowMs: 1 });
  const release = hold();
  const orders = await drafts(20);
  const first = commitAll(groupCommit, orders.slice(0, 1));
  await expect.poll(() => seen.inFlight).toBe(1);
  const second = commitAll(groupCommit, orders.slice(1, 2));
  await expect.poll(() => seen.inFlight).toBe(2);
  const rest = commitAll(groupCommit, orders.slice(2));
  expect(backlog.orders).toBe(20);
  release();
  expect(kinds([...(await first), ...(await second), ...(await rest)])).toEqual(Array(20).fill('created'));
  expect(seen.inserts).toEqual([1, 1, 18]);
  expect(seen.mostInFlight).toBe(2);
  expect(backlog.orders).toBe(0);
});

test('a second commit starts beside one that is not slow if a full batch waits', async () => {
  const { groupCommit, seen, hold } = world({ maxBatch: 5 });
  const release = hold();
  const orders = await drafts(9);
  const first = commitAll(groupCommit, orders.slice(0, 1));
  await expect.poll(() => seen.inFlight).toBe(1);
  const rest = commitAll(groupCommit, orders.slice(1));
  await expect.poll(() => seen.inFlight).toBe(2);
  release();
  expect(kinds([...(await first), ...(await rest)])).toEqual(Array(9).fill('created'));
  expect(seen.inserts).toEqual([1, 5, 3]);
});

test('a refused row fails alone at any place in the batch', async () => {
  const { groupCommit } = world();
  const orders = await drafts(9);
  const poison = await draftOrder(database.sql, store, { name: 'no\u0000name' });
  const outcomes = await commitAll(groupCommit, [...orders.slice(0, 5), poison, ...orders.slice(5)]);
  expect(kinds(outcomes)).toEqual([...Array(5).fill('created'), 'refused', ...Array(4).fill('created')]);
});

test('a dead key, a busy driver and a good order of one batch each get their own outcome', async () => {
  const { groupCommit } = world();
  const dead = await addStoreRow(database.sql);
  await storeOf(database.sql).rotateKey(dead.retailerId, { id: newId(), keyHash: hashSecret(newId()) });
  const driverId = await addDriverRow(database.sql);
  await addOrder(database.sql, store, { driverId });
  const outcomes = await commitAll(groupCommit, [
    await draftOrder(database.sql, dead),
    await draftOrder(database.sql, store, { driverId }),
    await draftOrder(database.sql, store),
  ]);
  expect(kinds(outcomes)).toEqual(['key_dead', 'driver_lost', 'created']);
});

test('of two orders of one batch for one driver one gets the driver', async () => {
  const { groupCommit } = world();
  const driverId = await addDriverRow(database.sql);
  const orders = [
    await draftOrder(database.sql, store, { driverId }),
    await draftOrder(database.sql, store, { driverId }),
  ];
  expect(kinds(await commitAll(groupCommit, orders)).sort()).toEqual(['created', 'driver_lost']);
});

test('a commit waits for the orders of a full batch that are about to start', async () => {
  const { groupCommit, backlog, seen } = world({ maxBatch: 3 });
  backlog.queued = 1;
  const orders = await drafts(3);
  const first = commitAll(groupCommit, orders.slice(0, 2));
  await new Promise((resolve) => setImmediate(resolve));
  expect(seen.inserts).toEqual([]);
  const last = groupCommit.commit(orders[2] as NewOrder, caller());
  expect(kinds([...(await first), await last])).toEqual(['created', 'created', 'created']);
  expect(seen.inserts).toEqual([3]);
});

test('a commit waits no longer than its bound for a full batch', async () => {
  const { groupCommit, backlog, seen } = world({ gatherMs: 5 });
  backlog.queued = 64;
  const [one, two] = await drafts(2);
  expect(kinds([await groupCommit.commit(one as NewOrder, caller())])).toEqual(['created']);
  expect(kinds([await groupCommit.commit(two as NewOrder, caller())])).toEqual(['created']);
  expect(seen.inserts).toEqual([1, 1]);
});

test('each commit tells how long its oldest order took, and counts its orders', async () => {
  const { groupCommit, backlog, took } = world();
  const counted: number[] = [];
  backlog.committed = (orders) => void counted.push(orders);
  const [older, newer] = await drafts(2);
  const beganMs = performance.now();
  const both = [
    groupCommit.commit(newer as NewOrder, caller()),
    groupCommit.commit(older as NewOrder, { ...caller(), sinceMs: beganMs - 5_000 }),
  ];
  expect(kinds(await Promise.all(both))).toEqual(['created', 'created']);
  expect(counted).toEqual([2]);
  expect(took).toHaveLength(1);
  expect(took[0]).toBeGreaterThanOrEqual(5_000);
  expect(took[0]).toBeLessThanOrEqual(5_000 + performance.now() - beganMs);
});

test('an order whose caller has disconnected before its turn is not sent, and the others are', async () => {
  const { groupCommit, seen, hold } = world();
  const release = hold();
  const orders = await drafts(4);
  const first = groupCommit.commit(orders[0] as NewOrder, caller());
  await expect.poll(() => seen.inFlight).toBe(1);
  const sent: string[] = [];
  const onSent = (who: string) => () => sent.push(who);
  const leaving = { ...caller(), signal: { aborted: false }, onSent: onSent('who leaves') };
  const staying = { ...caller(), onSent: onSent('who stays') };
  const rest = orders.slice(1).map((order, i) => groupCommit.commit(order, i === 1 ? leaving : staying));
  leaving.signal.aborted = true;
  expect(sent).toEqual([]);
  release();
  expect(kinds([await first, ...(await Promise.all(rest))])).toEqual(['created', 'created', 'unavailable', 'created']);
  expect(seen.inserts).toEqual([1, 2]);
  expect(sent).toEqual(['who stays', 'who stays']);
  expect(await orderRow(database.sql, (orders[2] as NewOrder).id)).toEqual({});
});

test('an order that waited too long is refused while earlier commits are stuck, and is not sent later', async () => {
  const { groupCommit, backlog, seen, hold } = world({ maxWaitMs: 30 });
  const release = hold();
  const orders = await drafts(2);
  // On time, however long this process stands still.
  const first = groupCommit.commit(orders[0] as NewOrder, { ...caller(), sinceMs: performance.now() + STEP_MS });
  await expect.poll(() => seen.inFlight).toBe(1);
  expect((await groupCommit.commit(orders[1] as NewOrder, caller())).kind).toBe('unavailable');
  expect(backlog.orders).toBe(1);
  release();
  expect((await first).kind).toBe('created');
  expect(seen.inserts).toEqual([1]);
  expect(await orderRow(database.sql, (orders[1] as NewOrder).id)).toEqual({});
});

test('an order that is too late on arrival is not sent', async () => {
  const { groupCommit, seen } = world({ maxWaitMs: 1_000 });
  const [order] = await drafts(1);
  const late = { sinceMs: performance.now() - 1_000, signal: { aborted: false } };
  expect((await groupCommit.commit(order as NewOrder, late)).kind).toBe('unavailable');
  expect(seen.inserts).toEqual([]);
});

test('a commit whose connection died is resolved by a tombstone: the order is void and stays void', async () => {
  const { sql } = database;
  const doomed = connect({ url: database.url, applicationName: 'doomed', max: 1 });
  const order = await draftOrder(sql, store);
  const { groupCommit } = open({ ...storeOf(sql), insertOrders: storeOf(doomed).insertOrders });
  // The table is locked, so the statement waits, and its backend is killed meanwhile.
  const blocker = connect({ url: database.url, applicationName: 'blocker', max: 1, statementTimeoutMs: 0 });
  const held = blocker.unsafe('begin; lock table customers in access exclusive mode').simple();
  await held;
  const outcome = groupCommit.commit(order, caller());
  const waiting = () =>
    sql`select pid from pg_stat_activity where application_name = 'doomed' and wait_event_type = 'Lock'`;
  await expect.poll(async () => (await waiting()).length).toBe(1);
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'doomed'`;
  expect((await outcome).kind).toBe('unavailable');
  await blocker.unsafe('rollback').simple();
  expect((await orderRow(sql, order.id)).status).toBe('void');
  expect((await storeOf(sql).insertOrders([order])).size).toBe(0);
  await Promise.all([doomed.end({ timeout: 1 }), blocker.end({ timeout: 1 })]);
});

test('a commit that was given up but succeeds after all is reported as created', async () => {
  const { sql } = database;
  const order = await draftOrder(sql, store);
  const { groupCommit } = open({
    ...storeOf(sql),
    async insertOrders(orders) {
      await storeOf(sql).insertOrders(orders);
      throw Object.assign(new Error('the reply was lost'), { code: 'CONNECTION_CLOSED' });
    },
  });
  const outcome = await groupCommit.commit(order, caller());
  expect(outcome).toMatchObject({ kind: 'created', order: { id: order.id } });
  expect(outcome.kind === 'created' && outcome.order.outbox.map((row) => row.queue).sort()).toEqual([
    'redispatch',
    'sms',
  ]);
});

test('an unreachable database makes every order unavailable', async () => {
  const nowhere = connect({ url: 'postgres://nobody@127.0.0.1:1/none', applicationName: 'test', max: 1 });
  const { groupCommit } = open(storeOf(nowhere));
  const order = await draftOrder(database.sql, store);
  expect((await groupCommit.commit(order, caller())).kind).toBe('unavailable');
  expect(await orderRow(database.sql, order.id)).toEqual({});
  await nowhere.end({ timeout: 1 });
});

test('while the database is away no order waits for unknown outcomes of others', async () => {
  const lost = () => Promise.reject(Object.assign(new Error('lost'), { code: 'CONNECTION_CLOSED' }));
  let tries = 0;
  const resolveUnknown = () => {
    tries++;
    return lost();
  };
  const { groupCommit, backlog, around } = open(
    { insertOrders: lost, explainRefused: lost, resolveUnknown },
    { maxInFlight: 1, resolveMs: 60_000, resolvePauseMs: 5 },
  );
  const [first, ...rest] = await drafts(3);
  void groupCommit.commit(first as NewOrder, caller());
  await expect.poll(() => tries).toBeGreaterThan(0);
  const waiting = commitAll(groupCommit, rest);
  around.isAway = true;
  expect(kinds(await waiting)).toEqual(['unavailable', 'unavailable']);
  expect(backlog.orders).toBe(1);
});

test('an outcome that cannot be resolved in time is reported as unknown', async () => {
  const lost = () => Promise.reject(Object.assign(new Error('lost'), { code: 'CONNECTION_CLOSED' }));
  const { groupCommit } = open(
    { insertOrders: lost, explainRefused: lost, resolveUnknown: lost },
    { resolveMs: 50, resolvePauseMs: 5 },
  );
  expect((await groupCommit.commit(await draftOrder(database.sql, store), caller())).kind).toBe('unknown');
});
