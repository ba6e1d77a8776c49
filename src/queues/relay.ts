import {
  LOSS_REPORT_MS,
  RELAY_AHEAD_MS,
  RELAY_BATCH,
  RELAY_HELD_MS,
  RELAY_HELD_ROWS,
  RELAY_MARK_MS,
  RELAY_RETRY_MS,
} from '../limits.ts';
import type { Clock } from '../postgres/clock.ts';
import { type OutboxRow, QUEUES, type QueueName } from '../store/outbox-rows.ts';
import type { Store } from '../store/store.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';
import { fairShares } from './fair-shares.ts';
import type { JobData } from './queues.ts';
import { createQueueRoom } from './room.ts';
import { within } from './within.ts';

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
  /** Hands over rows that were just committed; returns at once. What does not fit, or fails for long, is left to the sweeper. */
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
 * @param fairQueues queues whose stores take turns; that costs a queue more than first come, first served
 */
export function createRelay(
  queues: ReadonlyMap<QueueName, Adder>,
  store: Pick<Store, 'extendLease'>,
  fairQueues: ReadonlySet<QueueName>,
  clock: Clock,
  logger: Logger,
): Relay {
  let pending: OutboxRow[] = [];
  let running: Promise<void> | null = null;
  let isFailing = false;
  let isClosed = false;
  const report = atMostEvery(LOSS_REPORT_MS, (error: Error) =>
    logger.warn({ err: errorFields(error) }, 'jobs could not be handed over'),
  );
  /** Ends the pause before the next try. */
  let wake = (): void => undefined;
  /** Rows handed over since the last round of marking, and in the one before. */
  let unmarked: number[] = [];
  let older: number[] = [];
  let marking = Promise.resolve();
  const shareOf = fairShares();
  const rooms = new Map([...queues].map(([name, queue]) => [name, createQueueRoom(queue, clock)]));

  /** What is handed over while a run ends must not wait for the next hand-over. */
  function start(): void {
    running ??= run().finally(() => {
      running = null;
      if (pending.length > 0) start();
    });
  }

  async function run(): Promise<void> {
    while (pending.length > 0) {
      const rows = pending.splice(0, RELAY_BATCH);
      try {
        await within(Promise.all(QUEUES.map((queue) => add(queue, rows))));
        isFailing = false;
      } catch (error) {
        isFailing = true;
        report(error as Error);
        pending = isClosed ? [] : held([...rows, ...pending]);
        if (pending.length > 0) await pause();
      }
    }
    // Where nothing is held nothing will find out that the queues are back: what comes next is tried, however old it is.
    isFailing = false;
  }

  /** Nothing is lost of what is not held: the rows stay owed, and piling up would only use memory. */
  function held(rows: readonly OutboxRow[]): OutboxRow[] {
    const young = rows.filter(({ runAt }) => runAt.getTime() > clock.now() - RELAY_HELD_MS);
    return young.slice(-RELAY_HELD_ROWS);
  }

  function pause(): Promise<void> {
    return new Promise((resolve) => {
      const retry = setTimeout(resolve, RELAY_RETRY_MS);
      wake = () => {
        clearTimeout(retry);
        resolve();
      };
    });
  }

  async function add(name: QueueName, all: readonly OutboxRow[]): Promise<void> {
    const queue = queues.get(name);
    const rows = all.filter((row) => row.queue === name);
    // What the sweeper brings was judged by it.
    const fresh = rows.filter(({ relays }) => relays === 0);
    const fits = fresh.length === 0 || (await rooms.get(name)?.take(fresh.length));
    const jobs = (fits ? rows : rows.filter(({ relays }) => relays > 0)).map((row) => jobOf(name, row));
    if (jobs.length === 0) return;
    await queue?.addBulk(jobs);
    for (const { data } of jobs) unmarked.push(data.outboxId);
  }

  function jobOf(name: QueueName, row: OutboxRow): BulkJob {
    return {
      name,
      data: { outboxId: row.id, orderId: row.orderId, relays: row.relays },
      opts: {
        jobId: `${row.id}-${row.relays}`,
        delay: Math.max(0, row.runAt.getTime() - clock.now()),
        priority: fairQueues.has(name) ? shareOf(name, row.retailerId, clock.now()) : 0,
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
      for (let from = 0; from < ids.length; from += RELAY_BATCH)
        await store.extendLease(ids.slice(from, from + RELAY_BATCH));
    } catch (error) {
      logger.warn({ err: errorFields(error), rows: ids.length }, 'relayed jobs may be relayed twice');
    }
  }

  return {
    relay(rows) {
      // A queue keeps what is for later in memory, done meanwhile or not; the sweeper brings what is still owed by then.
      pending.push(...rows.filter(({ runAt }) => runAt.getTime() <= clock.now() + RELAY_AHEAD_MS));
      if (isFailing) pending = held(pending);
      start();
    },
    async openQueues() {
      const asked = [...rooms].map(async ([name, room]) => ((await room.isOpen()) ? [name] : []));
      return (await within(Promise.all(asked))).flat();
    },
    async close() {
      clearInterval(timer);
      isClosed = true;
      wake();
      while (running) await running;
      await marking;
      await mark([...older, ...unmarked]);
    },
  };
}
