import { setTimeout as delay } from 'node:timers/promises';
import { classifyFailure } from '../postgres/failures.ts';
import type { CommittedOrder, NewOrder } from '../store/orders-create.ts';
import type { Store } from '../store/store.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import type { AdmissionControl } from './admission.ts';

/**
 * The outcome of an order's commit. Of all but `created` and `unknown` nothing was written, and nothing will
 * be. `repeated`: an equal request without a key blocks the order. `refused`: the database does not accept
 * the row. `unknown`: the outcome could not be resolved in time.
 */
export type CommitOutcome =
  | { readonly kind: 'created'; readonly order: CommittedOrder }
  | {
      readonly kind:
        | 'key_dead'
        | 'key_used'
        | 'repeated'
        | 'driver_lost'
        | 'refused'
        | 'failed'
        | 'unavailable'
        | 'unknown';
    };

/** The caller of an order: since when it waits, by `performance.now`, and whether it has disconnected. */
export type Caller = { readonly sinceMs: number; readonly signal: { readonly aborted: boolean } };

/** Number of orders that wait for their commit or are being committed. */
export type CommitBacklog = { orders: number };

export type GroupCommit = {
  /**
   * Commits an order in a batch with others. Resolves with the outcome and never rejects. An order whose
   * caller has disconnected or waited too long before its turn is `unavailable`; it was never sent to the
   * database.
   */
  commit(order: NewOrder, caller: Caller): Promise<CommitOutcome>;
};

type Waiter = { readonly order: NewOrder; readonly caller: Caller; readonly resolve: (outcome: CommitOutcome) => void };
type Outcomes = Map<string, CommitOutcome>;
type Inserted = ReadonlyMap<string, CommittedOrder | null>;

/** Checks of the queue during the longest wait; an order that waited too long is dropped at the next one. */
const CHECKS_PER_WAIT = 10;

/**
 * Group commit (DeWitt et al. 1984): orders that arrive while a commit is in flight share the next one, so
 * that one fsync makes many orders durable. Without load an order waits only for its own round trip.
 *
 * One commit at a time makes the largest batches, which cost the least for each order. Another one starts
 * beside it only if it is slow (for `slowMs`: it waits for a lock, or its outcome is being resolved) or if a
 * full batch waits, which cannot grow any more. While more orders arrive than can start, a batch waits up to
 * `gatherMs` to fill, because small batches would cost a busy machine more.
 *
 * While the database is away, waiting orders are `unavailable` at once.
 *
 * @param bounds most orders in a batch and in the queue, most commits in flight, and times in milliseconds
 */
export function createGroupCommit(
  parts: {
    readonly store: Pick<Store, 'insertOrders' | 'explainRefused' | 'resolveUnknown'>;
    readonly database: { isAway(): boolean };
    readonly backlog: CommitBacklog;
    readonly admission: Pick<AdmissionControl, 'isLate'>;
    /** Whether each order gets a job that asks a geocoder for its dropoff. */
    readonly locatesDropoffs: boolean;
  },
  bounds: {
    maxBatch: number;
    maxInFlight: number;
    slowMs: number;
    maxQueue: number;
    maxWaitMs: number;
    resolveMs: number;
    resolvePauseMs: number;
    gatherMs: number;
  },
  logger: Logger,
): GroupCommit {
  const { store, database, backlog } = parts;
  let queue: Waiter[] = [];
  let inFlight = 0;
  let slow = 0;
  let scheduled = false;
  let isWatched = false;
  let gathering: NodeJS.Timeout | undefined;
  let isGathered = false;

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
    if (isGathered || !parts.admission.isLate()) return false;
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
    inFlight++;
    void commitBatch(batch.map((waiter) => waiter.order)).then((outcomes) => {
      clearTimeout(timer);
      inFlight--;
      if (isSlow) slow--;
      pump();
      for (const { order, resolve } of batch) resolve(outcomes.get(order.id) ?? { kind: 'failed' });
    });
  }

  /** Inserts a batch and turns every failure into outcomes. */
  async function commitBatch(orders: readonly NewOrder[], triesLeft = 3): Promise<Outcomes> {
    let inserted: Inserted;
    try {
      inserted = await store.insertOrders(orders, parts.locatesDropoffs);
    } catch (error) {
      return afterFailure(error, orders, triesLeft);
    }
    return explainMissing(orders, inserted);
  }

  async function afterFailure(error: unknown, orders: readonly NewOrder[], triesLeft: number): Promise<Outcomes> {
    const failure = classifyFailure(error);
    if (failure === 'retry' && triesLeft > 0) return commitBatch(orders, triesLeft - 1);
    if (failure === 'unknown') return resolveUnknown(orders);
    if (failure === 'refused_row' && orders.length > 1) {
      // A refused row must not fail the rest of its batch: halve the batch until the row is alone.
      const half = orders.length >> 1;
      const [first, second] = [await commitBatch(orders.slice(0, half)), await commitBatch(orders.slice(half))];
      return new Map([...first, ...second]);
    }
    logger.error({ err: errorFields(error), failure, orders: orders.length }, 'a commit failed');
    const kind = failure === 'refused_row' ? 'refused' : failure === 'unavailable' ? 'unavailable' : 'failed';
    return all(orders, { kind });
  }

  async function explainMissing(orders: readonly NewOrder[], inserted: Inserted): Promise<Outcomes> {
    const outcomes: Outcomes = new Map();
    for (const [id, order] of inserted) if (order) outcomes.set(id, { kind: 'created', order });
    const missing = orders.filter((order) => !inserted.get(order.id));
    if (missing.length === 0) return outcomes;
    try {
      const reasons = await store.explainRefused(missing);
      for (const { id } of missing) {
        // A dead API key comes first: its caller is told nothing about earlier orders.
        const reason = reasons.get(id) ?? 'driver_lost';
        const kind = reason === 'driver_lost' && inserted.has(id) ? 'repeated' : reason;
        outcomes.set(id, { kind: kind === 'voided' ? 'failed' : kind });
      }
    } catch (error) {
      logger.error(
        { err: errorFields(error), orders: missing.length },
        'the reasons of refused orders could not be read',
      );
      for (const { id } of missing) outcomes.set(id, { kind: 'unavailable' });
    }
    return outcomes;
  }

  /** Writes tombstones until each order is known to exist or never to exist, for at most `resolveMs`. */
  async function resolveUnknown(orders: readonly NewOrder[]): Promise<Outcomes> {
    const deadline = performance.now() + bounds.resolveMs;
    while (performance.now() < deadline) {
      try {
        const real = await store.resolveUnknown(orders);
        return new Map(
          orders.map(({ id }): [string, CommitOutcome] => {
            const order = real.get(id);
            return [id, order ? { kind: 'created', order } : { kind: 'failed' }];
          }),
        );
      } catch (error) {
        logger.warn({ err: errorFields(error), orders: orders.length }, 'unknown outcomes could not be resolved yet');
        pump();
        await delay(bounds.resolvePauseMs);
      }
    }
    return all(orders, { kind: 'unknown' });
  }

  return {
    commit: (order, caller) =>
      new Promise((resolve) => {
        if (queue.length >= bounds.maxQueue) return resolve({ kind: 'unavailable' });
        backlog.orders++;
        queue.push({
          order,
          caller,
          resolve(outcome) {
            backlog.orders--;
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

function all(orders: readonly NewOrder[], outcome: CommitOutcome): Outcomes {
  return new Map(orders.map(({ id }) => [id, outcome]));
}
