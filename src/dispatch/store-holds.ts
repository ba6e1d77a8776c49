import { setImmediate as nextTurn } from 'node:timers/promises';
import { FEED_RETRY_MS, MAX_FEED_PENDING } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Store } from '../store/store.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import { createBatches } from './batches.ts';
import { MATCHED_AT_ONCE, type Redispatch } from './redispatch.ts';

/**
 * Keeps the matcher in step with what holds stores back. The row is the arbiter; memory spares it questions.
 */
export type StoreHolds = {
  /** Reads every store that is held or may be soon: at start, and with each sweep. */
  reload(): Promise<void>;
  /** Reads these stores again. */
  refresh(retailerIds: readonly string[]): Promise<void>;
  /** Matches no further orders. */
  close(): void;
};

/** After a read, the waiting orders of the stores that it let go are matched, without being waited for. */
export function createStoreHolds(parts: {
  readonly store: Pick<Store, 'loadHolds'>;
  readonly matcher: Matcher;
  readonly redispatch: Pick<Redispatch, 'matchOrders'>;
  readonly unpaidAllowed?: number | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}): StoreHolds {
  const { store, matcher, redispatch, clock, logger } = parts;
  const failed = (error: unknown): boolean => {
    logger.warn({ err: errorFields(error) }, 'the orders of a store that is held no more could not be matched');
    // The sweep makes up for it.
    return false;
  };
  const bounds = { maxBatch: 1, maxWaiting: MAX_FEED_PENDING, retryMs: FEED_RETRY_MS };
  const released = createBatches(matchStores, bounds, failed, () => undefined);
  let reading = Promise.resolve();

  /** One read after another, so that an earlier read does not replace a later one. */
  function read(retailerIds?: readonly string[]): Promise<void> {
    reading = reading
      .catch(() => undefined)
      .then(async () => {
        let stale = await readOnce(retailerIds);
        while (stale.length > 0) stale = await readOnce(stale);
      });
    return reading;
  }

  /** Returns the stores whose credit was taken during the read, which must be read again. */
  async function readOnce(retailerIds?: readonly string[]): Promise<string[]> {
    matcher.beginCreditRead();
    const holds = await store.loadHolds(parts.unpaidAllowed, retailerIds);
    const assigned = matcher.endCreditRead();
    const before = retailerIds ?? matcher.watchedRetailers();
    const wereHeld = before.filter((id) => matcher.holdOf(id) !== null);
    const found = new Set(holds.map(({ retailerId }) => retailerId));
    for (const hold of holds) matcher.setHold(hold);
    for (const id of before) if (!found.has(id)) matcher.endHold(id);
    released.add(wereHeld.filter((id) => matcher.holdOf(id) === null));
    return [...found].filter((id) => assigned.has(id));
  }

  async function matchStores(retailerIds: readonly string[]): Promise<void> {
    for (const retailerId of retailerIds) await matchStore(retailerId);
  }

  /** Matches the waiting orders of a store in slices, until it is held again or nobody is free. */
  async function matchStore(retailerId: string): Promise<void> {
    const waiting = matcher.waitingOrdersOf(retailerId).map(({ orderId }) => orderId);
    const orderIds = matcher.sortByClaim(waiting, clock.now());
    for (let at = 0; at < orderIds.length; at += MATCHED_AT_ONCE) {
      if (matcher.holdOf(retailerId) !== null || matcher.freeCount() === 0) return;
      await redispatch.matchOrders(orderIds.slice(at, at + MATCHED_AT_ONCE));
      await nextTurn();
    }
  }

  return { reload: () => read(), refresh: (retailerIds) => read(retailerIds), close: () => released.close() };
}
