import { MAX_QUEUED_JOBS, QUEUE_CHECK_MS, QUEUE_CHECK_ROWS } from '../limits.ts';
import type { Clock } from '../postgres/clock.ts';

export type QueueRoom = {
  /** Whether so many jobs may be handed over now. */
  take(jobs: number): Promise<boolean>;
  /** Whether any may. */
  isOpen(): Promise<boolean>;
};

/**
 * How much more a queue takes, so that a worker that is slow or away fills neither Redis nor BullMQ's tables: what does
 * not fit stays in the outbox, where the sweeper finds it. The queue is asked once for so many jobs, and a full one once a
 * moment; it takes jobs again when half of them are done, so that those that had to wait come before new ones.
 *
 * @param queue counts the jobs that wait for a worker; jobs for later are not counted
 */
export function createQueueRoom(queue: { countWaiting(): Promise<number> }, clock: Clock): QueueRoom {
  let room = 0;
  let isFull = false;
  let askedMs = Number.NEGATIVE_INFINITY;

  async function look(): Promise<void> {
    if (isFull && clock.now() - askedMs < QUEUE_CHECK_MS) return;
    askedMs = clock.now();
    const waiting = await queue.countWaiting();
    isFull = waiting >= (isFull ? MAX_QUEUED_JOBS / 2 : MAX_QUEUED_JOBS);
    room = isFull ? 0 : QUEUE_CHECK_ROWS;
  }

  return {
    async take(jobs) {
      if (room < jobs) await look();
      if (room < jobs) return false;
      room -= jobs;
      return true;
    },
    async isOpen() {
      await look();
      return !isFull;
    },
  };
}
