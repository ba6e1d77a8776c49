import type { Matcher } from '../matcher/matcher.ts';

export type WaitingRoom = {
  /** Takes a place for an order that is about to be committed without a driver; false if there is none. */
  enter(retailerId: string): boolean;
  /** Gives the place back: the matcher counts the order now, or it was not created. */
  leave(retailerId: string): void;
};

/** Bounds the orders that wait for a driver, including those whose commit is in flight. */
export function createWaitingRoom(matcher: Matcher, max: number, maxPerRetailer: number): WaitingRoom {
  const committing = new Map<string, number>();
  let total = 0;

  function add(retailerId: string, change: 1 | -1): void {
    total += change;
    const left = (committing.get(retailerId) ?? 0) + change;
    if (left === 0) committing.delete(retailerId);
    else committing.set(retailerId, left);
  }

  return {
    enter(retailerId) {
      const waitingOfRetailer = matcher.waitingCountOf(retailerId) + (committing.get(retailerId) ?? 0);
      if (matcher.waitingCount() + total >= max || waitingOfRetailer >= maxPerRetailer) return false;
      add(retailerId, 1);
      return true;
    },
    leave(retailerId) {
      add(retailerId, -1);
      if (!committing.has(retailerId)) matcher.forgetShares(retailerId);
    },
  };
}
