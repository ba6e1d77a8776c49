import { setTimeout as delay } from 'node:timers/promises';
import { below, MAX_COMMIT_RETRIES } from '../limits.ts';
import { classifyFailure } from '../postgres/failures.ts';
import type { CommittedOrder, NewOrder, OrderJobs } from '../store/orders/orders-create.ts';
import type { Store } from '../store/store.ts';
import { errorFields, type Logger } from '../telemetry.ts';

/** Time spent resolving an unknown outcome before the caller gets 504. */
export const RESOLVE_MS = 6_000;
/** Pause between two attempts to resolve an unknown outcome. */
export const RESOLVE_PAUSE_MS = 250;

below({ RESOLVE_PAUSE_MS }, { RESOLVE_MS });

/**
 * The outcome of an order's commit. Of all but `created` and `unknown` nothing was written, and nothing will
 * be. `held`: its store is held, so that it can be committed without a driver only. `repeated`: the lost
 * reply of an equal request without a key holds the order back. `refused`: the database does not accept the
 * row. `unknown`: the outcome could not be resolved in time.
 */
export type CommitOutcome =
  | { readonly kind: 'created'; readonly order: CommittedOrder }
  | {
      readonly kind:
        | 'key_dead'
        | 'key_used'
        | 'repeated'
        | 'held'
        | 'driver_lost'
        | 'refused'
        | 'failed'
        | 'unavailable'
        | 'unknown';
    };

type Outcomes = Map<string, CommitOutcome>;
type Inserted = ReadonlyMap<string, CommittedOrder | null>;

/** What orders are committed with. */
export type CommitParts = {
  readonly store: Pick<Store, 'insertOrders' | 'explainRefused' | 'resolveUnknown'>;
  /** Whether each order gets a job that asks a geocoder for its dropoff. */
  readonly orderJobs: OrderJobs;
  /** Unpaid orders in a row after which a store's further ones get no driver. */
  readonly unpaidAllowed?: number | undefined;
};

/**
 * Inserts a batch of orders and turns every failure into outcomes. Never rejects.
 *
 * @param parts `unresolved` is called after each failed attempt to resolve unknown outcomes
 * @param bounds time for resolving unknown outcomes and the pause between two attempts, in milliseconds
 */
export function createCommitBatch(
  parts: CommitParts & { unresolved(): void },
  bounds: { readonly resolveMs: number; readonly resolvePauseMs: number },
  logger: Logger,
): (orders: readonly NewOrder[]) => Promise<Outcomes> {
  const { store } = parts;

  return (orders) => commitBatch(orders);

  async function commitBatch(orders: readonly NewOrder[], retriesLeft = MAX_COMMIT_RETRIES): Promise<Outcomes> {
    let inserted: Inserted;
    try {
      inserted = await store.insertOrders(orders, parts.orderJobs, parts.unpaidAllowed);
    } catch (error) {
      return afterFailure(error, orders, retriesLeft);
    }
    return explainMissing(orders, inserted);
  }

  async function afterFailure(error: unknown, orders: readonly NewOrder[], retriesLeft: number): Promise<Outcomes> {
    const failure = classifyFailure(error);
    if (failure === 'retry' && retriesLeft > 0) return commitBatch(orders, retriesLeft - 1);
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
      const reasons = await store.explainRefused(missing, parts.unpaidAllowed);
      for (const { id } of missing) {
        // A dead API key comes first: its caller is told nothing about earlier orders.
        const reason = reasons.get(id) ?? 'driver_lost';
        const isRepeated = inserted.has(id) && (reason === 'driver_lost' || reason === 'held');
        const kind = isRepeated ? 'repeated' : reason;
        outcomes.set(id, { kind: kind === 'voided' ? 'unavailable' : kind });
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
            return [id, order ? { kind: 'created', order } : { kind: 'unavailable' }];
          }),
        );
      } catch (error) {
        logger.warn({ err: errorFields(error), orders: orders.length }, 'unknown outcomes could not be resolved yet');
        parts.unresolved();
        await delay(bounds.resolvePauseMs);
      }
    }
    return all(orders, { kind: 'unknown' });
  }
}

function all(orders: readonly NewOrder[], outcome: CommitOutcome): Outcomes {
  return new Map(orders.map(({ id }) => [id, outcome]));
}
