import { identityOf } from '../domain/idempotency.ts';
import type { PlaceOrder } from '../domain/order.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Store } from '../store/store.ts';
import { judge, type PlaceOnceOutcome } from './place-once.ts';
import { withReason } from './place-request.ts';

/** An order as it was sent with its idempotency key. */
export type KeyedOrder = { readonly order: PlaceOrder; readonly key: string };

/** What requests get whose keys created an order before, by key. Nothing is placed. */
export type FindReplays = (
  retailerId: string,
  requests: readonly KeyedOrder[],
) => Promise<ReadonlyMap<string, PlaceOnceOutcome>>;

/** Finds the replays of one store's requests in one statement. */
export function createFindReplays(
  store: Pick<Store, 'findPlacedByKeys'>,
  matcher: Pick<Matcher, 'whyWaiting'>,
): FindReplays {
  return async (retailerId, requests) => {
    const keys = requests.map(({ key }) => key);
    const placed = await store.findPlacedByKeys(retailerId, keys);
    const replays = new Map<string, PlaceOnceOutcome>();
    for (const { order, key } of requests) {
      const before = placed.get(key);
      if (before) replays.set(key, withReason(judge(before, order, identityOf(order, key)), matcher));
    }
    return replays;
  };
}
