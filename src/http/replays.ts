import type { PlaceOnceOutcome } from '../dispatch/place-once.ts';
import type { FindReplays, KeyedOrder } from '../dispatch/replays.ts';
import type { RetailerKey } from '../store/accounts/retailers.ts';
import { asAvailable } from './outcomes.ts';
import type { StoreRates } from './store-rate.ts';

/** What orders over the rate of their store get whose keys created an order before, by key. */
export type Replays = (
  key: RetailerKey,
  orders: readonly KeyedOrder[],
) => Promise<ReadonlyMap<string, PlaceOnceOutcome>>;

/**
 * A replay is no new order, so it is looked up before an order is refused for the rate.
 *
 * @param rates counts these look-ups, one for a batch; beyond it none is made, or a flood of refused orders would
 *   fill the pool of statements
 */
export function createReplays(rates: StoreRates, find: FindReplays): Replays {
  return async (key, orders) => {
    const rate = await rates.count(key);
    return rate?.refusal ? new Map() : asAvailable(find(key.retailerId, orders));
  };
}
