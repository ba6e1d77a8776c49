import { Tally } from '../domain/tally.ts';
import { atMost, below, MAX_WAITING_ORDERS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';

/**
 * Most waiting orders of one store. Below MAX_WAITING_ORDERS, so that no store takes all the room; in the
 * sandbox, where a load test has one store, as many as of all.
 */
export const MAX_WAITING_ORDERS_PER_RETAILER = 10_000;
/**
 * Most orders that wait for their time, which count as waiting ones too. Half of MAX_WAITING_ORDERS, so that
 * orders of next week never take the room of those of today.
 */
export const MAX_LATER_ORDERS = 50_000;
/**
 * Most of them of one store; half of MAX_WAITING_ORDERS_PER_RETAILER, for the same reason. In the sandbox as
 * many as of all.
 */
export const MAX_LATER_ORDERS_PER_RETAILER = 5_000;

below({ MAX_WAITING_ORDERS_PER_RETAILER }, { MAX_WAITING_ORDERS });
atMost({ '2 × MAX_LATER_ORDERS': 2 * MAX_LATER_ORDERS }, { MAX_WAITING_ORDERS });
atMost({ '2 × MAX_LATER_ORDERS_PER_RETAILER': 2 * MAX_LATER_ORDERS_PER_RETAILER }, { MAX_WAITING_ORDERS_PER_RETAILER });

export type WaitingRoom = ReturnType<typeof createWaitingRoom>;

/** Most orders without a driver, and of these most that wait for their time; of all stores, and of one. */
export type WaitingBounds = {
  readonly max: number;
  readonly maxPerStore: number;
  readonly maxLater: number;
  readonly maxLaterPerStore: number;
};

/** Bounds the orders that wait for a driver or for their time, including those whose commit is in flight. */
export function createWaitingRoom(matcher: Matcher, bounds: WaitingBounds) {
  const all = new Committing();
  const later = new Committing();

  return {
    /**
     * Takes a place for an order that is about to be committed without a driver; false if there is none.
     *
     * @param isLater whether it is to wait for its time; such orders count as waiting ones, and have less room
     */
    enter(retailerId: string, isLater = false) {
      const laterOrders = matcher.laterCount() + later.total;
      const laterOfRetailer = matcher.laterCountOf(retailerId) + later.of(retailerId);
      if (isLater && (laterOrders >= bounds.maxLater || laterOfRetailer >= bounds.maxLaterPerStore)) return false;
      const orders = matcher.waitingCount() + matcher.laterCount() + all.total;
      const ofRetailer = matcher.waitingCountOf(retailerId) + matcher.laterCountOf(retailerId) + all.of(retailerId);
      if (orders >= bounds.max || ofRetailer >= bounds.maxPerStore) return false;
      all.add(retailerId, 1);
      if (isLater) later.add(retailerId, 1);
      return true;
    },
    /** Gives the place back: the matcher counts the order now, or it was not created. */
    leave(retailerId: string, isLater = false) {
      all.add(retailerId, -1);
      if (isLater) later.add(retailerId, -1);
      if (all.of(retailerId) === 0) matcher.forgetShares(retailerId);
    },
  };
}

/** The orders whose commit is in flight, by store. */
class Committing extends Tally {
  total = 0;

  override add(retailerId: string, change: 1 | -1): void {
    super.add(retailerId, change);
    this.total += change;
  }
}
