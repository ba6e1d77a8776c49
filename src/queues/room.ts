/** Most jobs of a queue that wait, a kilobyte each; more stay in the outbox until half of them are done. */
export const MAX_QUEUED_JOBS = 10_000;
/** Most jobs beyond MAX_QUEUED_JOBS, for stores that have few in a queue that others have filled. */
export const MAX_QUEUED_BEYOND = 5_000;
/** Jobs handed over between two counts of a queue. At least RELAY_BATCH, or a full one would never fit. */
export const QUEUE_CHECK_ROWS = 1_000;
/** Shortest time before a full queue is asked again. */
export const QUEUE_CHECK_MS = 1_000;

/**
 * The room of a queue, at most MAX_QUEUED_JOBS waiting jobs, so that a worker that is slow or away fills
 * neither Redis nor BullMQ's tables. Jobs that do not fit stay in the outbox, where the sweeper finds them.
 *
 * The queue is counted every QUEUE_CHECK_ROWS jobs, and a full one at most every QUEUE_CHECK_MS. A full queue
 * has room again when half of its jobs are done, so that the sweeper's older jobs come before new ones.
 */
export function createQueueRoom(queue: { countWaiting(): Promise<number> }) {
  let room = 0;
  let beyond = 0;
  let isFull = false;
  let askedMs = Number.NEGATIVE_INFINITY;

  async function look(): Promise<void> {
    if (isFull && performance.now() - askedMs < QUEUE_CHECK_MS) return;
    askedMs = performance.now();
    const waiting = await queue.countWaiting();
    isFull = waiting >= (isFull ? MAX_QUEUED_JOBS / 2 : MAX_QUEUED_JOBS);
    room = isFull ? 0 : QUEUE_CHECK_ROWS;
    beyond = isFull ? Math.min(QUEUE_CHECK_ROWS, MAX_QUEUED_JOBS + MAX_QUEUED_BEYOND - waiting) : 0;
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
