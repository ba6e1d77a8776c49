import { below } from '../limits.ts';
import { OUTBOX_LEASE_SECONDS } from '../store/outbox.ts';
import { RELAY_BATCH } from './hand-over-marks.ts';

/**
 * Most jobs of a queue with fair shares, or a limited rate, that wait, a kilobyte each; more stay in the outbox until
 * half of them are done.
 */
export const MAX_QUEUED_JOBS = 10_000;
/** The same of any other queue, where JOBS_PER_BATCH rows are one job of six kilobytes. Below MAX_QUEUED_JOBS. */
export const MAX_QUEUED_BATCHES = 2_500;
/** Most jobs beyond a full queue, for stores that have few in it; at most half of what fills the queue. */
export const MAX_QUEUED_BEYOND = 5_000;
/** Rows handed over between two counts of a queue. At least RELAY_BATCH, or a full one would never fit. */
export const QUEUE_CHECK_ROWS = 1_000;
/** Shortest time before a full queue is asked again. */
export const QUEUE_CHECK_MS = 1_000;

below({ MAX_QUEUED_BATCHES }, { MAX_QUEUED_JOBS });

/**
 * Jobs that fill a queue that starts so many a second; 0 without a limit. It starts twice as many within their lease:
 * one that waits for longer is relayed again, and its second job takes a place of the rate for nothing.
 */
export const mostAtRate = (rate: number): number =>
  rate > 0 ? Math.min(MAX_QUEUED_JOBS, Math.ceil((rate * OUTBOX_LEASE_SECONDS) / 2)) : MAX_QUEUED_JOBS;

/**
 * The room of a queue, a bounded number of waiting jobs, so that a worker that is slow or away fills
 * neither Redis nor BullMQ's tables. Jobs that do not fit stay in the outbox, where the sweeper finds them.
 *
 * The queue is counted every QUEUE_CHECK_ROWS rows, and a full one at most every QUEUE_CHECK_MS. A full queue
 * has room again when half of its jobs are done, so that the sweeper's older jobs come before new ones.
 *
 * @param most waiting jobs of a full queue
 */
export function createQueueRoom(queue: { countWaiting(): Promise<number> }, most: number) {
  let room = 0;
  let beyond = 0;
  let isFull = false;
  let askedMs = Number.NEGATIVE_INFINITY;

  async function look(): Promise<void> {
    if (isFull && performance.now() - askedMs < QUEUE_CHECK_MS) return;
    askedMs = performance.now();
    const waiting = await queue.countWaiting();
    isFull = waiting >= (isFull ? most / 2 : most);
    room = isFull ? 0 : Math.min(QUEUE_CHECK_ROWS, Math.max(most, RELAY_BATCH));
    beyond = isFull ? Math.min(QUEUE_CHECK_ROWS, most + Math.min(MAX_QUEUED_BEYOND, most / 2) - waiting) : 0;
  }

  return {
    /** Reserves room for a number of jobs; false if there is none. */
    async take(jobs: number): Promise<boolean> {
      if (room < jobs) await look();
      if (room < jobs) return false;
      room -= jobs;
      return true;
    },
    /** Takes the place of a job beyond a full queue, as it was counted last; false if there is none. */
    takeBeyond(): boolean {
      beyond--;
      return beyond >= 0;
    },
    /** Whether there is room for any job. */
    async isOpen(): Promise<boolean> {
      await look();
      return !isFull;
    },
  };
}
