import { MAX_JOB_PRIORITY, QUEUE_DEADLINE_MS, RELAY_BATCH, SHARE_WINDOW_MS } from '../limits.ts';
import { type OutboxRow, QUEUES, type QueueName } from '../store/outbox.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import type { JobData } from './queues.ts';

type BulkJob = {
  name: string;
  data: JobData;
  opts: { jobId: string; delay: number; priority: number };
};
type Adder = { addBulk(jobs: BulkJob[]): Promise<unknown> };

export type Relay = {
  /** Hands over rows that were just committed; returns at once. What fails is left to the sweeper. */
  relay(rows: readonly OutboxRow[]): void;
  /** Resolves when nothing is being handed over. */
  idle(): Promise<void>;
};

/**
 * Carries committed outbox rows into BullMQ: rows that arrive while a hand-over is in flight share the next one. After
 * it they are marked, so that the sweeper leaves them alone for a lease.
 *
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
  const shareOf = fairShares();

  async function run(): Promise<void> {
    while (pending.length > 0) {
      const rows = pending.splice(0, RELAY_BATCH);
      try {
        await within(QUEUE_DEADLINE_MS, Promise.all(QUEUES.map((queue) => add(queue, rows))));
        await extendLease(rows.map((row) => row.id));
      } catch (error) {
        logger.warn({ err: errorFields(error), rows: rows.length }, 'jobs were left to the sweeper');
        // Nothing here is lost: the rows stay owed, and piling up would only use memory.
        pending = [];
      }
    }
  }

  async function add(name: QueueName, rows: readonly OutboxRow[]): Promise<void> {
    const jobs = rows
      .filter((row) => row.queue === name)
      .map((row) => ({
        name,
        data: { outboxId: row.id, orderId: row.orderId, relays: row.relays },
        opts: {
          jobId: `${row.id}-${row.relays}`,
          delay: Math.max(0, row.runAt.getTime() - now()),
          priority: isFair(name) ? shareOf(name, row.retailerId, now()) : 0,
        },
      }));
    if (jobs.length > 0) await queues.get(name)?.addBulk(jobs);
  }

  return {
    relay(rows) {
      pending.push(...rows);
      running ??= run().finally(() => {
        running = null;
      });
    },
    idle: () => running ?? Promise.resolve(),
  };
}

/**
 * A fair share of a limited rate: a job's priority (1 goes first) is the number of jobs its store had in the last
 * window, so a store that sends thousands queues behind one that sends a few.
 */
export function fairShares(): (queue: QueueName, retailerId: string, nowMs: number) => number {
  let counts = new Map<string, number>();
  let windowStart = 0;
  return (queue, retailerId, nowMs) => {
    if (nowMs - windowStart > SHARE_WINDOW_MS) {
      // Half of each count is carried over, so that a window's end does not wipe out what a store just sent.
      counts = new Map([...counts].map(([key, count]) => [key, count >> 1] as const).filter(([, count]) => count > 0));
      windowStart = nowMs;
    }
    const key = `${queue}:${retailerId}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return Math.min(count, MAX_JOB_PRIORITY);
  };
}

/** BullMQ's `add` hangs for as long as Redis is away, so the wait has an end of its own. */
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
