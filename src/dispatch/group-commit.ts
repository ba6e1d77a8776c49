import { below, QUERY_DEADLINE_MS, REQUEST_DEADLINE_MS } from '../limits.ts';
import type { JobPace } from '../queues/job-pace.ts';
import type { NewOrder } from '../store/orders/orders-create.ts';
import type { Logger } from '../telemetry.ts';
import type { CommitBacklog } from './commit-backlog.ts';
import { type CommitOutcome, type CommitParts, createCommitBatch } from './commit-batch.ts';

/** Time after which a commit counts as slow. Below MAX_COMMIT_WAIT_MS, so that no waiting order fails. */
export const SLOW_COMMIT_MS = 100;
/** Longest wait of a commit for the orders of a full batch that have arrived and not started. */
export const COMMIT_GATHER_MS = 100;
/**
 * Longest wait for a commit to start; then the order is dropped with 503 and nothing is stored for a caller
 * that gave up. With what mostly follows, two statements or one and RESOLVE_MS, it stays below
 * REQUEST_DEADLINE_MS.
 */
export const MAX_COMMIT_WAIT_MS = 3_000;

below({ SLOW_COMMIT_MS }, { MAX_COMMIT_WAIT_MS });
below(
  { 'MAX_COMMIT_WAIT_MS + 2 × QUERY_DEADLINE_MS': MAX_COMMIT_WAIT_MS + 2 * QUERY_DEADLINE_MS },
  { REQUEST_DEADLINE_MS },
);

/** The caller of an order: since when it waits, by `performance.now`, and whether it has disconnected. */
export type Caller = {
  readonly sinceMs: number;
  readonly signal: { readonly aborted: boolean };
  /** Called when the order is sent to the database. Before that, a caller who disconnects leaves no order. */
  readonly onSent?: () => void;
};

export type GroupCommit = {
  /**
   * Commits an order in a batch with others. Resolves with the outcome and never rejects. An order whose
   * caller has disconnected or waited too long before its turn is `unavailable`; it was never sent to the
   * database.
   */
  commit(order: NewOrder, caller: Caller): Promise<CommitOutcome>;
};

type Waiter = { readonly order: NewOrder; readonly caller: Caller; readonly resolve: (outcome: CommitOutcome) => void };

/** Outcomes of orders that the database did not take up. */
const UNSTORED: ReadonlySet<CommitOutcome['kind']> = new Set(['unavailable', 'failed', 'unknown']);
/** Checks of the queue during the longest wait; an order that waited too long is dropped at the next one. */
const CHECKS_PER_WAIT = 10;

/**
 * Group commit (DeWitt et al. 1984): orders that arrive while a commit is in flight share the next one, so
 * that one fsync makes many orders durable. Without load an order waits only for its own round trip.
 *
 * One commit at a time makes the largest batches, which cost the least for each order. Another one starts
 * beside it only if it is slow (for `slowMs`: it waits for a lock, or its outcome is being resolved) or if a
 * full batch waits, which cannot grow any more. While enough orders for a full batch are here and wait for
 * their turn to start, the batch waits up to `gatherMs` for them, because small ones would cost a busy
 * machine more.
 *
 * While the database is away, waiting orders are `unavailable` at once.
 *
 * @param parts `pace` hears how long the orders of each commit took
 * @param bounds most orders in a batch, most commits in flight, and times in milliseconds
 */
export function createGroupCommit(
  parts: CommitParts & {
    readonly database: { isAway(): boolean };
    readonly backlog: CommitBacklog;
    readonly pace: Pick<JobPace, 'orderTook'>;
  },
  bounds: {
    maxBatch: number;
    maxInFlight: number;
    slowMs: number;
    maxWaitMs: number;
    resolveMs: number;
    resolvePauseMs: number;
    gatherMs: number;
  },
  logger: Logger,
): GroupCommit {
  const { database, backlog, pace } = parts;
  let queue: Waiter[] = [];
  let inFlight = 0;
  let slow = 0;
  let scheduled = false;
  let isWatched = false;
  let gathering: NodeJS.Timeout | undefined;
  let isGathered = false;
  const commitBatch = createCommitBatch({ ...parts, unresolved }, bounds, logger);

  function unresolved(): void {
    backlog.endLine();
    pump();
  }

  function pump(): void {
    scheduled = false;
    if (database.isAway()) {
      for (const { resolve } of queue.splice(0)) resolve({ kind: 'unavailable' });
    }
    if (queue.length === 0 || inFlight >= bounds.maxInFlight) return;
    const isFree = inFlight === slow;
    dropUnwanted();
    if (queue.length >= (isFree && !gathers() ? 1 : bounds.maxBatch)) start(queue.splice(0, bounds.maxBatch));
  }

  /** Whether the next commit waits for a fuller batch. */
  function gathers(): boolean {
    if (isGathered || queue.length + backlog.queued < bounds.maxBatch) return false;
    gathering ??= setTimeout(() => {
      isGathered = true;
      pump();
    }, bounds.gatherMs);
    return true;
  }

  function dropUnwanted(): void {
    const lateMs = performance.now() - bounds.maxWaitMs;
    queue = queue.filter(({ caller, resolve }) => {
      const isUnwanted = caller.signal.aborted || caller.sinceMs <= lateMs;
      if (isUnwanted) resolve({ kind: 'unavailable' });
      return !isUnwanted;
    });
  }

  /** Drops orders that waited too long while slow commits keep the queue from moving. */
  function watch(): void {
    if (isWatched) return;
    isWatched = true;
    setTimeout(() => {
      isWatched = false;
      dropUnwanted();
      if (queue.length > 0) watch();
    }, bounds.maxWaitMs / CHECKS_PER_WAIT);
  }

  function start(batch: readonly Waiter[]): void {
    let isSlow = false;
    const timer = setTimeout(() => {
      isSlow = true;
      slow++;
      pump();
    }, bounds.slowMs);
    clearTimeout(gathering);
    gathering = undefined;
    isGathered = false;
    if (inFlight === 0) backlog.resume(performance.now());
    inFlight++;
    for (const { caller } of batch) caller.onSent?.();
    void commitBatch(batch.map((waiter) => waiter.order)).then((outcomes) => {
      clearTimeout(timer);
      inFlight--;
      if (isSlow) slow--;
      for (const { order, resolve } of batch) resolve(outcomes.get(order.id) ?? { kind: 'failed' });
      if ([...outcomes.values()].every(({ kind }) => UNSTORED.has(kind))) backlog.endLine();
      ended(batch);
      pump();
    });
  }

  function ended(batch: readonly Waiter[]): void {
    const nowMs = performance.now();
    backlog.committed(batch.length, nowMs);
    pace.orderTook(nowMs - Math.min(...batch.map(({ caller }) => caller.sinceMs)));
  }

  return {
    commit: (order, caller) =>
      new Promise((resolve) => {
        const { retailerId } = order.request;
        backlog.countStarted(retailerId, 1);
        queue.push({
          order,
          caller,
          resolve(outcome) {
            backlog.countStarted(retailerId, -1);
            resolve(outcome);
          },
        });
        watch();
        // Orders of the same turn of the event loop share a batch.
        if (!scheduled) setImmediate(pump);
        scheduled = true;
      }),
  };
}
