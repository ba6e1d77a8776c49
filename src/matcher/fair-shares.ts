import { below } from '../limits.ts';

/**
 * Time after which a store's next waiting order counts as waiting, from when its last one does. Twenty orders
 * an hour are a tenth of what 100 drivers carry, and a two-hundredth of what 2,000 do. On public days five
 * minutes still delay nobody, and ten do (docs/performance.md).
 */
export const FAIR_SHARE_MS = 3 * 60_000;
/**
 * Most time by which an order counts as waiting later than it waits. Above FAIR_SHARE_MS, of which it holds
 * 40; the orders of a store beyond them count from the same time.
 */
export const MAX_FAIR_LEAD_MS = 2 * 3_600_000;

below({ FAIR_SHARE_MS }, { MAX_FAIR_LEAD_MS });

/**
 * Shares waiting fairly among stores: start-time fair queuing (P. Goyal, H. M. Vin, H. Cheng, SIGCOMM 1996)
 * with the clock as its virtual time. A store's next order counts as waiting once its last one has had its
 * share, so that a backlog that comes at once has the claims of one that comes at the pace of the shares.
 *
 * All shares are equal. A tier's weight is in the claim already; in the share as well, it would let a backlog
 * of weight b overtake single orders of weight 1 at b − 1 orders a share: one store of `priority` orders
 * could take a fleet of 30 for as long as its backlog lasts.
 */
export class FairShares {
  /** By store: when the share of its last waiting order ends. */
  private readonly ends = new Map<string, number>();

  /**
   * Since when an order that begins to wait now counts as waiting, in whole milliseconds, at most
   * MAX_FAIR_LEAD_MS from now; undefined if it does so at once.
   */
  next(retailerId: string, nowMs: number): number | undefined {
    const endMs = this.ends.get(retailerId) ?? nowMs;
    const startMs = endMs > nowMs ? Math.ceil(Math.min(endMs, nowMs + MAX_FAIR_LEAD_MS)) : undefined;
    this.taken(retailerId, startMs ?? nowMs);
    return startMs;
  }

  /** A store's waiting order has the share that starts then. */
  taken(retailerId: string, startMs: number): void {
    const endMs = startMs + FAIR_SHARE_MS;
    if (endMs > (this.ends.get(retailerId) ?? 0)) this.ends.set(retailerId, endMs);
  }

  /** Forgets a store without waiting orders. Its next one counts from when it comes. */
  forget(retailerId: string): void {
    this.ends.delete(retailerId);
  }
}
