import { afterAll, beforeEach, expect, test } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { connect } from '../../src/postgres/connect.ts';
import type { EndedLeases, HandedOver, LastLease, QueuedJob } from '../../src/store/outbox.ts';
import type { QueueName } from '../../src/store/outbox-rows.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addOrder, addStoreRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { SENDER } from '../harness/vendor-rows.ts';
import { noticesDuring, openTransaction, untilBlocked } from './transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;
beforeEach(async () => void (await sql`delete from outbox`));

/** Inserts rows into the table, with times in seconds from now; returns their ids in the given order. */
async function addRows(
  rows: readonly { lease: number; run?: number; done?: number; queue?: string; failure?: string }[],
): Promise<number[]> {
  const ids: number[] = [];
  for (const { lease, run = -60, done, queue = 'sms', failure = null } of rows) {
    const [row] = await sql`
      insert into outbox (queue, order_id, retailer_id, run_at, lease_until, done_at, failure_code)
      values (${queue}, ${newId()}, ${newId()}, now() + make_interval(secs => ${run}),
        now() + make_interval(secs => ${lease}),
        ${done === undefined ? null : sql`now() + make_interval(secs => ${done})`}, ${failure})
      returning id`;
    ids.push(row?.id);
  }
  return ids;
}
/** Seconds from when a row is due to the end of its lease, so that they do not depend on how long a test takes. */
const leaseOf = async (id: number | undefined): Promise<number> => {
  const [row] = await sql`
    select extract(epoch from lease_until - run_at)::float8 as seconds from outbox where id = ${id ?? 0}`;
  return row?.seconds;
};

/** A row as it is handed over. */
const rowOf = async (id: number | undefined): Promise<HandedOver> =>
  (await sql`select id, relays, order_id as "orderId" from outbox where id = ${id ?? 0}`)[0] as never;

test('only owed rows whose lease has ended are taken, and they are leased anew', async () => {
  const [expired, held, done] = await addRows([{ lease: -1 }, { lease: 60 }, { lease: -1, done: -1 }]);
  const taken = await storeOf(sql).takeExpired(10);
  expect(taken.map(({ id, relays }) => ({ id, relays }))).toEqual([{ id: expired, relays: 1 }]);
  expect(await leaseOf(expired)).toBeGreaterThanOrEqual(60 + 30);
  expect([await leaseOf(held), await leaseOf(done)]).toEqual([60 + 60, 60 - 1]);
  expect(await storeOf(sql).takeExpired(10)).toEqual([]);
});

test('each time a row is taken its number grows, so that the queue sees a new job', async () => {
  const [id] = await addRows([{ lease: -1 }]);
  for (const relays of [1, 2, 3]) {
    expect((await storeOf(sql).takeExpired(10)).map((row) => row.relays)).toEqual([relays]);
    await sql`update outbox set lease_until = now() - interval '1 second' where id = ${id ?? 0}`;
  }
});

test('rows whose lease ended first are taken first, up to a limit', async () => {
  const [third, first, second] = await addRows([{ lease: -1 }, { lease: -30 }, { lease: -10 }]);
  expect((await storeOf(sql).takeExpired(2)).map(({ id }) => id).sort()).toEqual([first, second].sort());
  expect((await storeOf(sql).takeExpired(2)).map(({ id }) => id)).toEqual([third]);
});

test('rows that another sweeper is taking are skipped without waiting', async () => {
  const ids = await addRows([{ lease: -9 }, { lease: -8 }, { lease: -7 }]);
  const other = await openTransaction(database);
  expect((await storeOf(other.sql).takeExpired(2)).map(({ id }) => id).sort()).toEqual([ids[0], ids[1]]);
  expect((await storeOf(sql).takeExpired(10)).map(({ id }) => id)).toEqual([ids[2]]);
  await other.rollback();
  expect((await storeOf(sql).takeExpired(10)).map(({ id }) => id).sort()).toEqual([ids[0], ids[1]]);
});

test('a delayed row is leased from its due time', async () => {
  const [later, now, done] = await addRows([
    { run: 3_600, lease: 3_630 },
    { run: -60, lease: 30 },
    { lease: 30, done: -1 },
  ]);
  await storeOf(sql).extendLease(await Promise.all([later, now, done].map(rowOf)));
  expect(await leaseOf(later)).toBe(900);
  expect(await leaseOf(now)).toBeGreaterThanOrEqual(60 + 900);
  expect(await leaseOf(done)).toBe(60 + 30);
});

test('a lease that is ended while its row is being marked stays ended', async () => {
  const [id = 0] = await addRows([{ lease: 30 }]);
  const row = await rowOf(id);
  const other = await openTransaction(database);
  await other.sql`select from outbox where id = ${id} for update`;
  const marking = storeOf(sql).extendLease([row]);
  await untilBlocked(database);
  await other.sql`update outbox set lease_until = clock_timestamp() where id = ${id}`;
  await other.commit();
  await marking;
  expect((await storeOf(sql).takeExpired(10)).map((row) => row.id)).toEqual([id]);
});

test('a row that was relayed again, or is of another order, is not marked: its queue may lack its job', async () => {
  const [again] = await addRows([{ run: 20, lease: 50 }]);
  await sql`update outbox set relays = 1 where id = ${Number(again)}`;
  const row = await rowOf(again);
  await storeOf(sql).extendLease([{ ...row, relays: 0 }]);
  expect(await leaseOf(again)).toBe(50 - 20);
  await storeOf(sql).extendLease([{ ...row, orderId: newId() }]);
  expect(await leaseOf(again)).toBe(50 - 20);
  await storeOf(sql).extendLease([row]);
  expect(await leaseOf(again)).toBeGreaterThanOrEqual(900);
});

test('a job that is put back has its pause, whatever marks its hand-over later', async () => {
  const [id = 0, another] = await addRows([{ lease: 30 }, { lease: 900 }]);
  const row = await rowOf(id);
  const jobOfNone = { outboxId: Number(another), orderId: newId() };
  await storeOf(sql).putBack([{ ...row, outboxId: id }, jobOfNone], 'sms', 120_000);
  await storeOf(sql).extendLease([row]);
  const [{ seconds } = {}] = await sql`
    select extract(epoch from lease_until - now())::float8 as seconds from outbox where id = ${id}`;
  expect(seconds).toBeCloseTo(120, -1.5);
  expect(await leaseOf(another)).toBe(60 + 900);
});

test('leases end in parts, the earliest first, those of delayed rows too, and not those of done rows', async () => {
  const [later, now, soon, done] = await addRows([
    { run: 3_600, lease: 4_500 },
    { lease: 900 },
    { lease: 20 },
    { lease: 900, done: -1 },
  ]);
  const first = await storeOf(sql).endLeases(2);
  expect(first).toMatchObject({ rows: 2, last: { id: now } });
  expect((await storeOf(sql).takeExpired(10)).map(({ id }) => id).sort()).toEqual([now, soon]);
  await sql`update outbox set done_at = now() where id = any(${[now ?? 0, soon ?? 0]}::int8[])`;
  expect(await storeOf(sql).endLeases(2, first.last)).toEqual({ rows: 1, last: null });
  expect((await storeOf(sql).takeExpired(10)).map(({ id, runAt }) => [id, runAt > new Date()])).toEqual([
    [later, true],
  ]);
  expect(await leaseOf(done)).toBe(60 + 900);
});

test('a part of ended leases is followed by the next one, whatever finishes meanwhile', async () => {
  const [first = 0, second, third, fourth] = await addRows([20, 21, 22, 23].map((lease) => ({ lease })));
  const finisher = await openTransaction(database);
  await finisher.sql`update outbox set done_at = now() where id = ${first}`;
  const ending = storeOf(sql).endLeases(2);
  await untilBlocked(database);
  await finisher.commit();
  const { rows, last } = await ending;
  expect(rows).toBe(1);
  expect(await storeOf(sql).endLeases(2, last)).toMatchObject({ rows: 2, last: { id: fourth } });
  expect((await storeOf(sql).takeExpired(10)).map(({ id }) => id).sort()).toEqual([second, third, fourth]);
});

test('a part of ended leases looks at no more rows than it may, those that are parked included', async () => {
  const [late] = await addRows([{ lease: 90_000 }]);
  // Those that were parked by one statement have the same lease.
  await sql`
    insert into outbox (queue, order_id, retailer_id, run_at, lease_until, parked_for, parked_at)
    select 'webhook', gen_random_uuid(), gen_random_uuid(), at, at, gen_random_uuid(), now()
    from generate_series(1, 5), (select now() + interval '1 day' as at) later`;
  const parts: number[] = [];
  let after: LastLease | null = null;
  do {
    const part: EndedLeases = await storeOf(sql).endLeases(2, after);
    parts.push(part.rows);
    after = part.last;
  } while (after !== null && parts.length < 5);
  expect(parts).toEqual([0, 0, 1, 0]);
  expect((await storeOf(sql).takeExpired(10)).map(({ id }) => id)).toEqual([late]);
});

test('a job ends its own row once, and none of another order or queue that has its id now', async () => {
  const [id = 0] = await addRows([{ lease: -1, queue: 'sms' }]);
  const [row] = await sql`select order_id from outbox where id = ${id}`;
  const own = { outboxId: id, orderId: row?.order_id as string };
  const isDone = async () => (await sql`select done_at from outbox where id = ${id} and done_at is not null`)[0];
  await storeOf(sql).finishJobs([{ ...own, orderId: newId() }], 'sms');
  await storeOf(sql).finishJobs([own], 'webhook', 'event');
  expect(await isDone()).toBeUndefined();
  await storeOf(sql).finishJobs([own], 'sms');
  const done = await isDone();
  expect(done).toBeDefined();
  await storeOf(sql).finishJobs([own], 'sms');
  expect(await isDone()).toEqual(done);
});

// Statements that name their rows look for them by an index, as in the service.
const byIndex = connect({ url: database.url, applicationName: 'test', max: 1, byIndex: true });
afterAll(() => byIndex.end({ timeout: 1 }));
const { recordPaid, recordDeclined, recordRefund, recordRefundRefused, recordUncharged } = storeOf(byIndex);
const { recordTexts, recordDropoffs, extendLease, finishJobs, putBack } = storeOf(byIndex);
const sent = { kind: 'delivered', result: { status: 'sent', sid: 'SM1' } } as const;
const lost = { failureCode: 'lost_card', final: true };
/** An attempt that is being sent, without which a result ends no job. */
const addAttempt = (orderId: string) =>
  sql`insert into payments (order_id, attempt, amount_cents, status) values (${orderId}, 1, 799, 'sending')`;
test.each<[queue: QueueName, what: string, record: (orderId: string, outboxId: number) => Promise<unknown>]>([
  ['charge', 'paid', (orderId, outboxId) => recordPaid([{ orderId, attempt: 1, paymentIntentId: 'pi_1', outboxId }])],
  ['charge', 'declined', (orderId, outboxId) => recordDeclined({ orderId, attempt: 1 }, lost, outboxId)],
  ['refund', 'made', (orderId, outboxId) => recordRefund(orderId, 're_1', outboxId)],
  ['refund', 'refused', (orderId, outboxId) => recordRefundRefused(orderId, { code: 'no' }, outboxId)],
  ['refund', 'not needed', (orderId, outboxId) => recordUncharged(orderId, outboxId)],
  ['sms', 'sent', (orderId, outboxId) => recordTexts('sms', [{ ...sent, orderId, outboxId }], SENDER)],
  ['text', 'sent', (orderId, outboxId) => recordTexts('text', [{ ...sent, orderId, outboxId }], SENDER)],
  ['locate', 'found', (orderId, outboxId) => recordDropoffs([{ orderId, dropoff: null, outboxId }])],
])('the result of a job of %s, %s, ends no row of another order', async (queue, _what, record) => {
  const { orderId } = await addOrder(sql, await addStoreRow(sql));
  await sql`update orders set status = 'cancelled', payment_status = 'processing' where id = ${orderId}`;
  const [id = 0] = await addRows([{ lease: -1, queue }]);
  await record(orderId, id);
  expect(await sql`select done_at from outbox where id = ${id}`).toEqual([{ done_at: null }]);
  await sql`update orders set payment_status = 'processing' where id = ${orderId}`;
  await sql`update outbox set order_id = ${orderId} where id = ${id}`;
  if (queue === 'charge') await addAttempt(orderId);
  await record(orderId, id);
  expect(await sql`select done_at from outbox where id = ${id}`).toEqual([{ done_at: expect.any(Date) }]);
});

const paid = { attempt: 1, paymentIntentId: 'pi_1' };
const textsOf = (jobs: readonly QueuedJob[]) => jobs.map((job) => ({ ...job, ...sent }));
test.each<[queue: QueueName, what: string, write: (jobs: readonly QueuedJob[]) => Promise<unknown>]>([
  ['charge', 'are handed over', (jobs) => extendLease(jobs.map((job) => ({ ...job, id: job.outboxId, relays: 0 })))],
  ['charge', 'have nothing to do', (jobs) => finishJobs(jobs, 'charge')],
  ['charge', 'are put back', (jobs) => putBack(jobs, 'charge', 0)],
  ['charge', 'are paid', (jobs) => recordPaid(jobs.map((job) => ({ ...job, ...paid })))],
  ['sms', 'are sent', (jobs) => recordTexts('sms', textsOf(jobs), SENDER)],
  ['text', 'are sent', (jobs) => recordTexts('text', textsOf(jobs), SENDER)],
  ['locate', 'are located', (jobs) => recordDropoffs(jobs.map((job) => ({ ...job, dropoff: null })))],
])('rows of jobs of %s that %s are locked in the order of their ids', async (queue, _what, write) => {
  for (const id of await addRows(Array.from({ length: 3 }, () => ({ lease: 30, queue })))) {
    if (queue !== 'charge') continue;
    const { orderId } = await addOrder(sql, await addStoreRow(sql));
    await addAttempt(orderId);
    await sql`update outbox set order_id = ${orderId} where id = ${id}`;
  }
  const rows = await sql`
    select id as "outboxId", order_id as "orderId" from outbox where queue = ${queue} order by id desc`;
  const jobs = rows as unknown as QueuedJob[];
  const other = await openTransaction(database);
  await other.sql`select from outbox where id = ${jobs.at(-1)?.outboxId ?? 0} for update`;
  const writing = write(jobs);
  await untilBlocked(database);
  const free = await other.sql`select id from outbox where queue = ${queue} for update skip locked`;
  expect(free).toHaveLength(jobs.length);
  await other.commit();
  await writing;
});

test('jobs of waits that end are locked in the order of their ids', async () => {
  const store = await addStoreRow(sql);
  const orders = [await addOrder(sql, store), await addOrder(sql, store)];
  await sql`delete from outbox`;
  for (const { orderId } of orders.toReversed()) {
    const ids = await addRows([
      { lease: 30, queue: 'locate' },
      { lease: 30, queue: 'redispatch' },
    ]);
    await sql`update outbox set order_id = ${orderId} where id = any(${ids}::int8[])`;
  }
  const other = await openTransaction(database);
  await other.sql`select from outbox where id = (select min(id) from outbox) for update`;
  const ending = storeOf(byIndex).cancelWaiting(store.retailerId, new Date());
  await untilBlocked(database);
  expect(await other.sql`select id from outbox for update skip locked`).toHaveLength(4);
  await other.commit();
  expect(await ending).toHaveLength(2);
  expect(await sql`select from outbox where queue <> 'refund' and done_at is null`).toEqual([]);
});

test('old done rows are deleted, up to a limit; owed ones never', async () => {
  const day = 86_400;
  const ids = await addRows([
    { lease: 0, done: -8 * day },
    { lease: 0, done: -9 * day },
    { lease: 0, done: -6 * day },
    { lease: -30 * day, run: -30 * day },
  ]);
  expect(await storeOf(sql).pruneOutbox(7, 1)).toBe(1);
  expect(await storeOf(sql).pruneOutbox(7, 10)).toBe(1);
  expect(await storeOf(sql).pruneOutbox(7, 10)).toBe(0);
  const left = await sql`select id from outbox order by id`;
  expect(left.map(({ id }) => id)).toEqual([ids[2], ids[3]]);
});

test('the backlog counts the due and the failed rows of every queue', async () => {
  await addRows([
    { queue: 'charge', lease: 0, run: -120 },
    { queue: 'charge', lease: 0, run: -10 },
    { queue: 'charge', lease: 0, done: -1, failure: 'lost_card' },
    { queue: 'charge', lease: 0, done: -1 },
    { queue: 'redispatch', lease: 3_600, run: 3_600 },
    { queue: 'sms', lease: 0, done: -1 },
  ]);
  const backlog = await storeOf(sql).readBacklog();
  const idle = { owed: 0, oldestSeconds: 0, failed: 0 };
  expect(backlog).toEqual([
    { queue: 'charge', owed: 2, oldestSeconds: expect.closeTo(120, -1), failed: 1 },
    { queue: 'event', ...idle },
    { queue: 'locate', ...idle },
    { queue: 'redispatch', ...idle },
    { queue: 'refund', ...idle },
    { queue: 'sms', ...idle },
    { queue: 'text', ...idle },
    { queue: 'webhook', ...idle },
  ]);
});

test('jobs that are left to the sweepers are theirs at once, and a notice is sent; done ones are left out', async () => {
  const [owed, done, other] = await addRows([{ lease: 30 }, { lease: 30, done: 0 }, { lease: 30 }]);
  const store = storeOf(sql, 'me');
  const notices = await noticesDuring(database, async () => {
    await store.leaveToSweepers([owed ?? 0, done ?? 0]);
    await store.leaveToSweepers([done ?? 0]);
    await store.leaveToSweepers([]);
  });
  expect(notices).toEqual(['me:jobs:1']);
  expect((await store.takeExpired(10)).map(({ id }) => id)).toEqual([owed]);
  expect(await leaseOf(other)).toBe(60 + 30);
});
