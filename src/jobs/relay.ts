import { QUEUE_DEADLINE_MS, RELAY_BATCH, RELAY_MARK_MS } from '../limits.ts';
import { type OutboxRow, QUEUES, type QueueName } from '../store/outbox.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import { fairShares } from './fair-shares.ts';
import { createQueueRoom } from './queue-room.ts';
import type { JobData } from './queues.ts';

type BulkJob = {
  name: string;
  data: JobData;
  opts: { jobId: string; delay: number; priority: number };
};
type Adder = {
  addBulk(jobs: BulkJob[]): Promise<unknown>;
  /** Jobs that wait for a worker. */
  countWaiting(): Promise<number>;
};

export type Relay = {
  /** Hands over rows that were just committed; returns at once. What fails or does not fit is left to the sweeper. */
  relay(rows: readonly OutboxRow[]): void;
  /** The queues that have room for more; rejects where they can't be asked in time. */
  openQueues(): Promise<QueueName[]>;
  /** Resolves when nothing is being handed over and all that was is marked. */
  close(): Promise<void>;
};

/**
 * Carries committed outbox rows into BullMQ: rows that arrive while a hand-over is in flight share the next one.
 *
 * A row that was handed over is marked a while later, if its job is not done by then: the sweeper then leaves it alone for
 * a lease. Most jobs are done sooner, and cost no mark.
 *
 * @param extendLease marks those of the rows that are not done
 * @param isFair whether a queue's stores take turns; it costs the queue more than first come, first served
 */
export function createRelay(
  queues: ReadonlyMap<QueueName, Adder>,
  extendLease: (ids: readonly number[]) => Promise<void>,
  isFair: (queue: QueueName) => boolean,
  now: () => number,
  logger: Logger,
): Relay {
  let pending: OutboxRow[] = [];
  let running: Promise<void> | null = null;
  /** Rows handed over since the last round of marking, and in the one before. */
  let unmarked: number[] = [];
  let older: number[] = [];
  let marking = Promise.resolve();
  const shareOf = fairShares();
  const rooms = new Map([...queues].map(([name, queue]) => [name, createQueueRoom(queue.countWaiting, now)]));

  async function run(): Promise<void> {
    while (pending.length > 0) {
      const rows = pending.splice(0, RELAY_BATCH);
      try {
        await within(QUEUE_DEADLINE_MS, Promise.all(QUEUES.map((queue) => add(queue, rows))));
      } catch (error) {
        logger.warn({ err: errorFields(error), rows: rows.length }, 'jobs were left to the sweeper');
        // Nothing here is lost: the rows stay owed, and piling up would only use memory.
        pending = [];
      }
    }
  }

  async function add(name: QueueName, all: readonly OutboxRow[]): Promise<void> {
    const queue = queues.get(name);
    const rows = all.filter((row) => row.queue === name);
    // What the sweeper brings was judged by it, and is leased for long already.
    const fresh = rows.filter(({ relays }) => relays === 0);
    const fits = fresh.length === 0 || (await rooms.get(name)?.take(fresh.length));
    const jobs = (fits ? rows : rows.filter(({ relays }) => relays > 0)).map((row) => jobOf(name, row));
    if (jobs.length === 0) return;
    await queue?.addBulk(jobs);
    if (fits) for (const { id } of fresh) unmarked.push(id);
  }

  function jobOf(name: QueueName, row: OutboxRow): BulkJob {
    return {
      name,
      data: { outboxId: row.id, orderId: row.orderId, relays: row.relays },
      opts: {
        jobId: `${row.id}-${row.relays}`,
        delay: Math.max(0, row.runAt.getTime() - now()),
        priority: isFair(name) ? shareOf(name, row.retailerId, now()) : 0,
      },
    };
  }

  /** A row handed over just after one round is marked by the next: after one to two pauses, within its first lease. */
  function markOlder(): void {
    const ids = older;
    older = unmarked;
    unmarked = [];
    marking = mark(ids);
  }
  const timer = setInterval(markOlder, RELAY_MARK_MS);

  /** In parts, since those of a burst are more than one statement writes in its time. */
  async function mark(ids: readonly number[]): Promise<void> {
    try {
      for (let from = 0; from < ids.length; from += RELAY_BATCH) await extendLease(ids.slice(from, from + RELAY_BATCH));
    } catch (error) {
      logger.warn({ err: errorFields(error), rows: ids.length }, 'relayed jobs may be relayed twice');
    }
  }

  return {
    relay(rows) {
      pending.push(...rows);
      running ??= run().finally(() => {
        running = null;
      });
    },
    async openQueues() {
      const asked = [...rooms].map(async ([name, room]) => ((await room.isOpen()) ? [name] : []));
      return (await within(QUEUE_DEADLINE_MS, Promise.all(asked))).flat();
    },
    async close() {
      clearInterval(timer);
      await running;
      await marking;
      await mark([...older, ...unmarked]);
    },
  };
}

/** BullMQ's calls hang for as long as Redis is away, so the wait has an end of its own. */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error('the queue did not answer'), { code: 'QUEUE_LATE' })), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
