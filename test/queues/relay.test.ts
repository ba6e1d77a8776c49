import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { JOBS_PER_BATCH } from '../../src/queues/bulk-jobs.ts';
import { FEW_JOBS } from '../../src/queues/fair-shares.ts';
import { RELAY_BATCH, RELAY_MARK_MS } from '../../src/queues/hand-over-marks.ts';
import { type JobBatch, jobsOf } from '../../src/queues/job-batch.ts';
import { JOB_TICK_MS, JobPace, MIN_PACED_JOBS, SLOW_ORDER_MS } from '../../src/queues/job-pace.ts';
import { createRelay, HAND_OVER_MS, RELAY_HELD_MS, RELAY_HELD_ROWS, RELAY_RETRY_MS } from '../../src/queues/relay.ts';
import {
  MAX_QUEUED_BATCHES,
  MAX_QUEUED_BEYOND,
  MAX_QUEUED_JOBS,
  QUEUE_CHECK_MS,
  QUEUE_CHECK_ROWS,
} from '../../src/queues/room.ts';
import {
  OUTBOX_SWEEP_MS,
  OUTBOX_SWEEP_ROWS,
  OUTBOX_SWEEP_SOON_MS,
  type SweeperStore,
} from '../../src/queues/sweeper.ts';
import { RELAY_AHEAD_MS, RELAY_SOON_ROWS } from '../../src/queues/until-due.ts';
import { OUTBOX_LEASE_SECONDS } from '../../src/store/outbox.ts';
import type { OutboxRow, QueueName } from '../../src/store/outbox-rows.ts';
import { createLogger } from '../../src/telemetry.ts';
import { startTestSweeper } from './test-sweeper.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The order whose charge a reply waits for. */
const AWAITED = 'o';

/** A relay into a queue that only counts its jobs. */
function world({
  waiting = 0,
  isAway = false,
  pace = new JobPace(true),
  queues = ['sms'] as QueueName[],
  fair = [] as QueueName[],
  rate = 0,
  unmarkable = -1,
} = {}) {
  const state = {
    waiting,
    isAway,
    added: [] as number[],
    jobs: [] as number[],
    marked: [] as number[][],
    waits: [] as unknown[],
    asked: 0,
  };
  const awaited: number[] = [];
  const queue = {
    async addBulk(jobs: { data: JobBatch }[]) {
      if (state.isAway) throw new Error('away');
      state.jobs.push(...jobs.map(({ data }) => jobsOf(data).length));
      const rows = jobs.flatMap(({ data }) => jobsOf(data));
      state.added.push(...rows.map(({ outboxId }) => outboxId));
      awaited.push(...rows.flatMap((row) => (row.isAwaited ? [row.outboxId] : [])));
    },
    async countWaiting() {
      state.asked++;
      return state.waiting;
    },
  };
  const relay = createRelay(
    new Map(queues.map((name) => [name, queue])),
    {
      async extendLease(rows) {
        if (rows.some(({ id }) => id === unmarkable)) throw new Error('deadlock');
        state.marked.push(rows.map(({ id }) => id));
      },
    },
    new Map(fair.map((name) => [name, rate])),
    pace,
    (orderId) => orderId === AWAITED,
    Date,
    createLogger('silent'),
  );
  onTestFinished(() => relay.close());
  return { relay, state, awaited };
}

const rowsOf = (from: number, to: number, relays = 0, queue: QueueName = 'sms'): OutboxRow[] =>
  Array.from({ length: to - from }, (_, i) => ({
    id: from + i,
    queue,
    orderId: AWAITED,
    retailerId: 'r',
    runAt: new Date(0),
    relays,
  }));
const flushed = () => vi.advanceTimersByTimeAsync(HAND_OVER_MS);

test('a handed-over row is marked once, after one to two intervals', async () => {
  const { relay, state } = world();
  relay.relay(rowsOf(1, 3));
  await vi.advanceTimersByTimeAsync(RELAY_MARK_MS - 1);
  relay.relay(rowsOf(3, 4));
  await vi.advanceTimersByTimeAsync(1);
  expect([state.added, state.marked]).toEqual([[1, 2, 3], []]);
  await vi.advanceTimersByTimeAsync(RELAY_MARK_MS);
  expect(state.marked).toEqual([[1, 2, 3]]);
  await vi.advanceTimersByTimeAsync(RELAY_MARK_MS * 3);
  expect(state.marked).toEqual([[1, 2, 3]]);
});

test('the rows of a burst are marked in parts', async () => {
  const { relay, state } = world();
  relay.relay(rowsOf(0, RELAY_BATCH * 2));
  await flushed();
  relay.relay(rowsOf(RELAY_BATCH * 2, RELAY_BATCH * 2 + 1));
  await relay.close();
  expect(state.marked.map(({ length }) => length)).toEqual([RELAY_BATCH, RELAY_BATCH, 1]);
  expect(state.marked.flat()).toEqual(state.added);
});

test('a part that cannot be marked keeps no other from being marked', async () => {
  const { relay, state } = world({ unmarkable: 0 });
  relay.relay(rowsOf(0, RELAY_BATCH * 2));
  await flushed();
  await relay.close();
  expect(state.marked.flat()).toEqual(state.added.slice(RELAY_BATCH));
});

test('rows that are due soon are held and share a job when they are due; at the stop they are handed over', async () => {
  const { relay, state } = world();
  const dueIn = (ms: number, id: number) =>
    rowsOf(id, id + 1).map((row) => ({ ...row, runAt: new Date(Date.now() + ms) }));
  for (let id = 0; id < 10; id++) relay.relay(dueIn(5_000, id));
  relay.relay(dueIn(20_000, 10));
  await vi.advanceTimersByTimeAsync(4_900);
  expect(state.added).toEqual([]);
  await vi.advanceTimersByTimeAsync(200);
  expect([state.added, state.jobs]).toEqual([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [10]]);
  await relay.close();
  expect(state.added.at(-1)).toBe(10);
});

test('no more rows are held until they are due than a bound; the rest is left to the sweeper', async () => {
  const { relay, state } = world();
  const soon = new Date(Date.now() + 1_000);
  relay.relay(rowsOf(0, RELAY_SOON_ROWS + 10).map((row) => ({ ...row, runAt: soon })));
  await relay.close();
  expect(state.added).toHaveLength(RELAY_SOON_ROWS);
});

test('rows that come soon after a hand-over share the next one, and a charge does not wait and says so', async () => {
  const { relay, state, awaited } = world({ queues: ['sms', 'charge'] });
  relay.relay(young(0, 1));
  await vi.advanceTimersByTimeAsync(0);
  for (let id = 1; id < 10; id++) relay.relay(young(id, id + 1));
  await vi.advanceTimersByTimeAsync(HAND_OVER_MS - 1);
  expect(state.jobs).toEqual([1]);
  relay.relay(young(20, 21).map((row) => ({ ...row, queue: 'charge' })));
  await vi.advanceTimersByTimeAsync(0);
  expect(state.added).toEqual([0, 20]);
  await vi.advanceTimersByTimeAsync(1);
  expect([state.added, state.jobs]).toEqual([
    [0, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    [1, 1, 9],
  ]);
  expect(awaited).toEqual([20]);
});

test('rows that arrive as a hand-over ends are handed over', async () => {
  const { relay, state } = world();
  relay.relay([]);
  relay.relay(rowsOf(1, 3));
  await flushed();
  expect(state.added).toEqual([1, 2]);
});

test('a row of the sweeper is tried after a failed hand-over, though it is too old to be held', async () => {
  const { relay, state } = world({ isAway: true });
  relay.relay(rowsOf(1, 3, 1));
  await flushed();
  state.isAway = false;
  relay.relay(rowsOf(1, 3, 2));
  await flushed();
  expect(state.added).toEqual([1, 2]);
});

test('a row that a queue did not take is not marked', async () => {
  const { relay, state } = world({ isAway: true });
  relay.relay(rowsOf(1, 3));
  await relay.close();
  expect([state.added, state.marked]).toEqual([[], []]);
});

test('a full queue gets no more jobs: the rows stay in the outbox, unmarked', async () => {
  const { relay, state } = world({ waiting: MAX_QUEUED_BATCHES });
  relay.relay(rowsOf(1, 3));
  await flushed();
  relay.relay(rowsOf(3, 5));
  await relay.close();
  expect([state.added, state.marked, state.asked]).toEqual([[], [], 1]);
});

test('a queue with fair shares that is full takes a few jobs of each store all the same', async () => {
  const { relay, state } = world({ waiting: MAX_QUEUED_JOBS, fair: ['sms'] });
  const of = (retailerId: string, from: number, to: number) => rowsOf(from, to).map((row) => ({ ...row, retailerId }));
  relay.relay(of('flood', 0, 50));
  relay.relay(of('another', 100, 102));
  await flushed();
  expect(state.added).toEqual([0, 1, 2, 3, 4, 100, 101]);
  relay.relay(of('flood', 50, 60));
  await flushed();
  expect(state.added).toHaveLength(FEW_JOBS + 2);
  state.waiting = MAX_QUEUED_JOBS + MAX_QUEUED_BEYOND - 1;
  await vi.advanceTimersByTimeAsync(QUEUE_CHECK_MS);
  relay.relay(of('third', 200, 203));
  await flushed();
  expect(state.added.slice(FEW_JOBS + 2)).toEqual([200]);
});

test('a queue with a low rate has no more jobs than it starts within half of their lease', async () => {
  const { relay, state } = world({ waiting: OUTBOX_LEASE_SECONDS, fair: ['sms'], rate: 2 });
  expect(await relay.openQueues()).toEqual([]);
  state.waiting = OUTBOX_LEASE_SECONDS / 2 - 1;
  await vi.advanceTimersByTimeAsync(QUEUE_CHECK_MS);
  expect(await relay.openQueues()).toEqual(['sms']);
  relay.relay(rowsOf(0, RELAY_BATCH));
  await flushed();
  relay.relay(rowsOf(RELAY_BATCH, 2 * RELAY_BATCH));
  await flushed();
  // Of a store that has many, the rest stays in the outbox until the queue was counted again.
  expect([state.added.length, state.asked]).toEqual([2 * RELAY_BATCH, 3]);
  state.waiting = OUTBOX_LEASE_SECONDS;
  relay.relay(rowsOf(2 * RELAY_BATCH, 3 * RELAY_BATCH));
  await flushed();
  expect(state.added).toHaveLength(2 * RELAY_BATCH);
});

test('a whole hand-over fits into an empty queue of the lowest rate', async () => {
  const { relay, state } = world({ fair: ['sms'], rate: 1 });
  relay.relay(rowsOf(0, RELAY_BATCH));
  await flushed();
  expect(state.added).toHaveLength(RELAY_BATCH);
});

test('a full queue takes jobs again when half of them are done', async () => {
  const { relay, state } = world({ waiting: MAX_QUEUED_BATCHES });
  expect(await relay.openQueues()).toEqual([]);
  state.waiting = MAX_QUEUED_BATCHES / 2;
  // As after a failover to a server whose clock is behind.
  vi.setSystemTime(Date.now() - 3_600_000);
  await vi.advanceTimersByTimeAsync(QUEUE_CHECK_MS);
  expect(await relay.openQueues()).toEqual([]);
  state.waiting = MAX_QUEUED_BATCHES / 2 - 1;
  await vi.advanceTimersByTimeAsync(QUEUE_CHECK_MS);
  expect(await relay.openQueues()).toEqual(['sms']);
  relay.relay(rowsOf(1, 3));
  await flushed();
  expect(state.added).toEqual([1, 2]);
});

test('a queue with room is counted once for many jobs', async () => {
  const { relay, state } = world();
  for (let from = 0; from < QUEUE_CHECK_ROWS * 2; from += 100) {
    relay.relay(rowsOf(from, from + 100));
    await flushed();
  }
  expect([state.added.length, state.asked]).toEqual([QUEUE_CHECK_ROWS * 2, 2]);
});

test('a row of the sweeper is handed over to a full queue too, and marked', async () => {
  const { relay, state } = world({ waiting: MAX_QUEUED_BATCHES });
  relay.relay(rowsOf(1, 3, 1));
  await relay.close();
  expect([state.added, state.marked]).toEqual([[1, 2], [[1, 2]]]);
});

const young = (from: number, to: number): OutboxRow[] => rowsOf(from, to).map((row) => ({ ...row, runAt: new Date() }));

test('a row that a queue did not take is handed over as soon as the queue takes jobs again', async () => {
  const { relay, state } = world({ isAway: true });
  relay.relay(young(1, 3));
  await vi.advanceTimersByTimeAsync(RELAY_RETRY_MS * 3);
  relay.relay(young(3, 4));
  state.isAway = false;
  await vi.advanceTimersByTimeAsync(RELAY_RETRY_MS);
  expect(state.added).toEqual([1, 2, 3]);
});

test('a row that could not be handed over for long is left to the sweeper', async () => {
  const { relay, state } = world({ isAway: true });
  relay.relay(young(1, 3));
  await vi.advanceTimersByTimeAsync(RELAY_HELD_MS + RELAY_RETRY_MS);
  state.isAway = false;
  await vi.advanceTimersByTimeAsync(RELAY_RETRY_MS * 2);
  expect(state.added).toEqual([]);
});

test('a row that is due much later is not handed over yet', async () => {
  const { relay, state } = world();
  const inMs = (id: number, ms: number): OutboxRow[] =>
    rowsOf(id, id + 1).map((row) => ({ ...row, runAt: new Date(Date.now() + ms) }));
  relay.relay([...inMs(1, RELAY_AHEAD_MS), ...inMs(2, RELAY_AHEAD_MS + 1), ...young(3, 4)]);
  await flushed();
  expect(state.added.toSorted()).toEqual([1, 3]);
});

test('rows that are due share jobs, and those of a queue with fair shares do not', async () => {
  const plain = world();
  plain.relay.relay(rowsOf(0, JOBS_PER_BATCH * 2 + 1));
  await flushed();
  expect(plain.state.jobs).toEqual([JOBS_PER_BATCH, JOBS_PER_BATCH, 1]);
  expect(plain.state.added).toEqual(rowsOf(0, JOBS_PER_BATCH * 2 + 1).map(({ id }) => id));
  const fair = world({ fair: ['sms'] });
  fair.relay.relay(rowsOf(0, 3));
  await flushed();
  expect(fair.state.jobs).toEqual([1, 1, 1]);
});

test('a bounded number of rows is held, the newest', async () => {
  const { relay, state } = world({ isAway: true });
  relay.relay(young(0, 10));
  await flushed();
  relay.relay(young(10, RELAY_HELD_ROWS + 10));
  state.isAway = false;
  await vi.advanceTimersByTimeAsync(RELAY_RETRY_MS);
  expect([state.added.length, state.added[0]]).toEqual([RELAY_HELD_ROWS, 10]);
});

/** A pace that yields: an order took long, and the next ones do too. */
function slowPace(): JobPace {
  const pace = new JobPace(true);
  const slow = () => pace.orderTook(SLOW_ORDER_MS + 1);
  slow();
  const orders = setInterval(slow, JOB_TICK_MS / 2);
  onTestFinished(() => {
    clearInterval(orders);
    pace.close();
  });
  return pace;
}
/** Ticks after which jobs have yielded as far as they do. */
const DOWN_MS = JOB_TICK_MS * 10;

test('charges that no reply waits for share the next hand-over like other jobs', async () => {
  const { relay, state } = world({ queues: ['charge'] });
  const young = (from: number, to: number) =>
    rowsOf(from, to, 0, 'charge').map((row) => ({ ...row, orderId: `order-${row.id}`, runAt: new Date() }));
  relay.relay(young(0, 1));
  await vi.advanceTimersByTimeAsync(0);
  relay.relay(young(1, 3));
  relay.relay(young(3, 5));
  await vi.advanceTimersByTimeAsync(0);
  expect(state.jobs).toEqual([1]);
  await flushed();
  expect(state.jobs).toEqual([1, 4]);
});

test('while jobs yield, rows are handed over as slowly as jobs start, and charges at once', async () => {
  const pace = slowPace();
  const { relay, state } = world({ pace, queues: ['sms', 'charge'] });
  await vi.advanceTimersByTimeAsync(DOWN_MS);
  relay.relay(young(0, 100));
  await vi.advanceTimersByTimeAsync(JOB_TICK_MS * 3);
  expect(state.added.length).toBeLessThanOrEqual(4 * MIN_PACED_JOBS);
  const before = state.added.length;
  relay.relay(young(200, 300).map((row) => ({ ...row, queue: 'charge' })));
  await flushed();
  expect(state.added.slice(before).filter((id) => id >= 200)).toHaveLength(100);
});

test('rows that yielded are handed over in their order when orders are quick again', async () => {
  const pace = slowPace();
  const { relay, state } = world({ pace });
  await vi.advanceTimersByTimeAsync(DOWN_MS);
  relay.relay(young(0, RELAY_HELD_ROWS + 10));
  relay.relay(young(RELAY_HELD_ROWS + 10, RELAY_HELD_ROWS + 20));
  pace.close();
  await vi.advanceTimersByTimeAsync(JOB_TICK_MS);
  expect(state.added.length).toBeGreaterThanOrEqual(RELAY_HELD_ROWS);
  expect(state.added.length).toBeLessThan(RELAY_HELD_ROWS + 10);
  expect(state.added).toEqual(state.added.toSorted((a, b) => a - b));
});

test('while more yields than is held, the rows that a sweep took stay', async () => {
  const pace = slowPace();
  const { relay, state } = world({ pace });
  await vi.advanceTimersByTimeAsync(DOWN_MS);
  relay.relay(young(0, RELAY_HELD_ROWS));
  relay.relay(rowsOf(-10, 0, 1));
  relay.relay(young(RELAY_HELD_ROWS, RELAY_HELD_ROWS + 10));
  pace.close();
  await vi.advanceTimersByTimeAsync(JOB_TICK_MS * 3);
  expect(state.added.filter((id) => id < 0)).toHaveLength(10);
  expect(state.added.length).toBeLessThanOrEqual(RELAY_HELD_ROWS + 10);
});

test('rows that yielded for long are left to the sweeper', async () => {
  const pace = slowPace();
  const { relay, state } = world({ pace });
  await vi.advanceTimersByTimeAsync(DOWN_MS);
  relay.relay(young(0, 1_000));
  await vi.advanceTimersByTimeAsync(RELAY_HELD_MS);
  relay.relay(young(1_000, 1_001));
  pace.close();
  await vi.advanceTimersByTimeAsync(JOB_TICK_MS);
  expect(state.added.at(-1)).toBe(1_000);
  expect(state.added.length).toBeLessThan(1_000);
});

test('while jobs yield old rows have their turn beside new ones, as many as are handed over until the next sweep', async () => {
  const { relay, state } = world({ pace: slowPace() });
  await vi.advanceTimersByTimeAsync(DOWN_MS);
  const limits: number[] = [];
  const takeExpired: SweeperStore['takeExpired'] = async (limit) => {
    limits.push(limit);
    return rowsOf(-limit, 0, 1);
  };
  startTestSweeper({ takeExpired }, relay);
  const orders = setInterval(() => relay.relay(young(0, 5)), JOB_TICK_MS);
  onTestFinished(() => clearInterval(orders));
  await vi.advanceTimersByTimeAsync(OUTBOX_SWEEP_MS * 2);
  const perSweep = (MIN_PACED_JOBS * OUTBOX_SWEEP_MS) / JOB_TICK_MS;
  // None of the first ones was handed over: new ones are before them for up to RELAY_HELD_MS.
  expect(limits).toEqual([perSweep]);
  await vi.advanceTimersByTimeAsync(RELAY_HELD_MS + OUTBOX_SWEEP_MS);
  expect(state.added.filter((id) => id < 0).length).toBeGreaterThan(perSweep / 2);
});

test('a job whose first hand-over was not answered is given under another id once its rows are others', async () => {
  const ids: string[] = [];
  const queue = {
    async addBulk(jobs: { opts: { jobId: string } }[]) {
      ids.push(...jobs.map(({ opts }) => opts.jobId));
      if (ids.length === 1) throw new Error('no answer');
    },
    countWaiting: async () => 0,
  };
  const store = { extendLease: async () => undefined };
  const pace = new JobPace(false);
  const relay = createRelay(
    new Map([['sms', queue]]),
    store,
    new Map(),
    pace,
    () => false,
    Date,
    createLogger('silent'),
  );
  onTestFinished(() => relay.close());
  const old = rowsOf(2, 3, 1);
  relay.relay([...young(1, 2), ...old]);
  await flushed();
  relay.relay(young(3, 4));
  await vi.advanceTimersByTimeAsync(RELAY_RETRY_MS);
  // After a failover of Postgres another order may have a row of the same id.
  for (const orderId of [AWAITED, 'another']) {
    relay.relay(rowsOf(5, 6).map((row) => ({ ...row, orderId })));
    await flushed();
  }
  expect(ids).toHaveLength(4);
  expect(new Set(ids).size).toBe(4);
});

test('the sweeper takes no rows of a full queue, and sweeps again soon while many are owed', async () => {
  const { relay, state } = world({ waiting: MAX_QUEUED_BATCHES });
  const limits: number[] = [];
  const takeExpired: SweeperStore['takeExpired'] = async (limit, queues) => {
    expect(queues).toEqual(['sms']);
    limits.push(limit);
    return rowsOf(0, limits.length < 3 ? OUTBOX_SWEEP_ROWS : 1, 1);
  };
  startTestSweeper({ takeExpired }, relay);
  await vi.advanceTimersByTimeAsync(OUTBOX_SWEEP_MS);
  expect(limits).toEqual([]);
  state.waiting = 0;
  await vi.advanceTimersByTimeAsync(OUTBOX_SWEEP_MS);
  expect(limits.length).toBe(1);
  await vi.advanceTimersByTimeAsync(OUTBOX_SWEEP_SOON_MS);
  await vi.advanceTimersByTimeAsync(OUTBOX_SWEEP_SOON_MS);
  expect(limits.length).toBe(3);
  await vi.advanceTimersByTimeAsync(OUTBOX_SWEEP_MS - 1);
  expect(limits.length).toBe(3);
});
