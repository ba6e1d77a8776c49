import { atMost, below, LOSS_REPORT_MS } from '../limits.ts';
import type { Clock } from '../postgres/clock.ts';
import { type OutboxRow, QUEUES, type QueueName } from '../store/outbox-rows.ts';
import type { Store } from '../store/store.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';
import { type BulkJob, bulkJobsOf } from './bulk-jobs.ts';
import { FEW_JOBS, fairShares } from './fair-shares.ts';
import { createHandOverMarks, RELAY_BATCH } from './hand-over-marks.ts';
import type { JobHandlers } from './job-handler.ts';
import type { JobPace } from './job-pace.ts';
import { JOB_TICK_MS } from './job-pace.ts';
import type { AddingQueue } from './queues.ts';
import { createQueueRoom, MAX_QUEUED_BATCHES, mostAtRate } from './room.ts';
import { createUntilDue, RELAY_AHEAD_MS } from './until-due.ts';
import { isWallClockAhead } from './wall-clock.ts';
import { within } from './within.ts';

/**
 * Interval at which rows are handed over for which no reply waits, so that they share jobs: one of BullMQ's costs as
 * much as about ten rows. Above JOB_TICK_MS, which takes its place while jobs yield.
 */
export const HAND_OVER_MS = 100;
/** Pause before a failed hand-over is tried again. */
export const RELAY_RETRY_MS = 500;
/** Most rows held for a failed hand-over; the rest is left to the sweeper. At least RELAY_BATCH. */
export const RELAY_HELD_ROWS = 5_000;
/** Age above which a row is not held any more. Below OUTBOX_FIRST_LEASE_SECONDS. */
export const RELAY_HELD_MS = 25_000;

below({ JOB_TICK_MS }, { HAND_OVER_MS });
atMost({ RELAY_BATCH }, { RELAY_HELD_ROWS });

type Adder = Pick<AddingQueue, 'countWaiting'> & { addBulk(jobs: BulkJob[]): Promise<unknown> };

export type Relay = {
  /**
   * Hands over committed rows; returns at once. Rows that do not fit, or fail for long, are left to the
   * sweeper.
   */
  relay(rows: readonly OutboxRow[]): void;
  /** The queues with room for more jobs; rejects if they do not answer in time. */
  openQueues(): Promise<QueueName[]>;
  /**
   * Most rows that a sweep may take which is followed by the next one after so many milliseconds. While jobs yield
   * it is what is handed over until then, so that old rows have their turn beside new ones.
   */
  roomUntil(nextMs: number): number;
  /** Resolves when no hand-over is in flight and all handed-over rows are marked. */
  close(): Promise<void>;
};

/**
 * Hands committed outbox rows over to BullMQ: at once after a time without any, and then each HAND_OVER_MS, so
 * that rows which come together share jobs.
 *
 * A row that was handed over is marked one to two RELAY_MARK_MS later, if its job is not done by then; the
 * sweeper leaves a marked row alone for a lease. Most jobs are done sooner and cost no mark.
 *
 * Jobs that yield to orders are handed over as slowly as they start. A charge that a reply waits for never
 * waits.
 *
 * @param isAwaited whether a reply waits for the charge of this order
 * @param queues by name; {@link JobHandlers} has the handler of each
 * @param fairQueues queues with fair shares among stores, which cost a queue more than first come, first
 *   served, and the most jobs a second that each of them starts; 0 without a limit
 */
export function createRelay(
  queues: ReadonlyMap<keyof JobHandlers, Adder>,
  store: Pick<Store, 'extendLease'>,
  fairQueues: ReadonlyMap<QueueName, number>,
  pace: Pick<JobPace, 'isYielding' | 'room'>,
  isAwaited: (orderId: string) => boolean,
  clock: Clock,
  logger: Logger,
): Relay {
  /** Those that replies wait for. */
  let charges: OutboxRow[] = [];
  let pending: OutboxRow[] = [];
  /** When the next rows that are no charges are handed over, by `performance.now`. */
  let dueMs = 0;
  let running: Promise<void> | null = null;
  let isFailing = false;
  let isClosed = false;
  const report = atMostEvery(LOSS_REPORT_MS, (error: Error) =>
    logger.warn({ err: errorFields(error) }, 'jobs could not be handed over'),
  );
  /** Ends the pause before the next attempt. */
  let wake = (): void => undefined;
  const marks = createHandOverMarks(store, logger);
  const untilDue = createUntilDue(clock, take);
  const shareOf = fairShares();
  const mostOf = (name: QueueName) => {
    const rate = fairQueues.get(name);
    return rate === undefined ? MAX_QUEUED_BATCHES : mostAtRate(rate);
  };
  const rooms = new Map([...queues].map(([name, queue]) => [name, createQueueRoom(queue, mostOf(name))]));

  /** Rows that arrive while a run ends start the next one. */
  function start(): void {
    running ??= run().finally(() => {
      running = null;
      if (areOwed()) start();
    });
  }

  const hasReply = ({ queue, orderId }: OutboxRow): boolean => queue === 'charge' && isAwaited(orderId);
  const areOwed = (): boolean => charges.length + pending.length > 0;

  /** The rows of the next hand-over. Those for which no reply waits are handed over once in an interval. */
  function next(): OutboxRow[] {
    if (charges.length > 0) return charges.splice(0, RELAY_BATCH);
    const rows = pending.splice(0, Math.min(RELAY_BATCH, pace.room));
    const isMore = !pace.isYielding && pending.length >= RELAY_BATCH;
    dueMs = isMore ? 0 : performance.now() + (pace.isYielding ? JOB_TICK_MS : HAND_OVER_MS);
    return rows;
  }

  async function run(): Promise<void> {
    while (areOwed()) {
      const waitMs = charges.length > 0 || isClosed ? 0 : dueMs - performance.now();
      if (waitMs > 0) await pause(waitMs);
      else await handOver(next());
      if (pace.isYielding) dropOld();
    }
    // With nothing held no attempt would find out that the queues are back, so the next rows are tried at any
    // age.
    isFailing = false;
  }

  async function handOver(rows: readonly OutboxRow[]): Promise<void> {
    try {
      await within(Promise.all(QUEUES.map((queue) => add(queue, rows))));
      isFailing = false;
    } catch (error) {
      isFailing = true;
      report(error as Error);
      pending = isClosed ? [] : held([...rows, ...charges.splice(0), ...pending]);
      if (pending.length > 0) await pause(RELAY_RETRY_MS);
    }
  }

  /** Bounds the rows held in memory. The others stay owed in the outbox. */
  function held(rows: readonly OutboxRow[]): OutboxRow[] {
    const young = rows.filter(({ runAt }) => runAt.getTime() > clock.now() - RELAY_HELD_MS);
    return young.slice(-RELAY_HELD_ROWS);
  }

  /** Drops the rows that have yielded for too long, oldest first. A row of the sweeper was leased anew. */
  function dropOld(): void {
    const oldestMs = clock.now() - RELAY_HELD_MS;
    const kept = pending.findIndex(({ runAt, relays }) => relays > 0 || runAt.getTime() > oldestMs);
    pending.splice(0, kept < 0 ? pending.length : kept);
  }

  /** A row of the sweeper stays: nobody takes it again before its new lease has ended. */
  function withoutNewest(rows: readonly OutboxRow[]): OutboxRow[] {
    let room = RELAY_HELD_ROWS - rows.filter(({ relays }) => relays > 0).length;
    return rows.filter(({ relays }) => relays > 0 || room-- > 0);
  }

  function pause(forMs: number): Promise<void> {
    return new Promise((resolve) => {
      const retry = setTimeout(resolve, forMs);
      wake = () => {
        clearTimeout(retry);
        resolve();
      };
    });
  }

  async function add(name: QueueName, all: readonly OutboxRow[]): Promise<void> {
    const queue = queues.get(name);
    const rows = all.filter((row) => row.queue === name);
    // The sweeper has checked the room for its own rows.
    const fresh = rows.filter(({ relays }) => relays === 0);
    const fits = fresh.length === 0 || (await rooms.get(name)?.take(fresh.length));
    const nowMs = clock.now();
    const priorities = fairQueues.has(name)
      ? new Map(rows.map((row) => [row, shareOf(name, row.retailerId, nowMs)] as const))
      : null;
    // One store may have filled the queue: the few jobs of another one go before its many all the same.
    const isFew = (row: OutboxRow) => (priorities?.get(row) ?? Number.POSITIVE_INFINITY) <= FEW_JOBS;
    const hasRoom = (row: OutboxRow) => row.relays > 0 || (isFew(row) && rooms.get(name)?.takeBeyond());
    const fitting = fits ? rows : rows.filter(hasRoom);
    if (fitting.length === 0) return;
    await queue?.addBulk(bulkJobsOf(name, fitting, priorities, nowMs, hasReply));
    marks.add(fitting.map(({ id, relays, orderId }) => ({ id, relays, orderId })));
  }

  function take(rows: readonly OutboxRow[]): void {
    // A delayed job takes the queue's memory even if its row is done early. The sweeper relays it when it is
    // due.
    const aheadMs = isWallClockAhead(clock) ? 0 : RELAY_AHEAD_MS;
    const due = rows.filter(({ runAt }) => runAt.getTime() <= clock.now() + aheadMs);
    for (const row of due) (hasReply(row) ? charges : pending).push(row);
    if (isFailing) [charges, pending] = [[], held([...charges, ...pending])];
    // The oldest are held, so that jobs keep their order.
    else if (pace.isYielding && pending.length > RELAY_HELD_ROWS) pending = withoutNewest(pending);
    if (charges.length > 0) wake();
    start();
  }

  return {
    relay: (rows) => take(untilDue.hold(rows)),
    async openQueues() {
      const asked = [...rooms].map(async ([name, room]) => ((await room.isOpen()) ? [name] : []));
      return (await within(Promise.all(asked))).flat();
    },
    roomUntil(nextMs) {
      if (!pace.isYielding) return Number.POSITIVE_INFINITY;
      const ofSweeps = pending.filter(({ relays }) => relays > 0).length;
      return Math.max(0, pace.room * Math.floor(nextMs / JOB_TICK_MS) - ofSweeps);
    },
    async close() {
      marks.stop();
      pending.push(...untilDue.release());
      if (areOwed()) start();
      isClosed = true;
      wake();
      while (running) await running;
      await marks.close();
    },
  };
}
