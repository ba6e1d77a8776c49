import type { Identity } from '../domain/idempotency.ts';
import { newId } from '../domain/ids.ts';
import type { PlaceOrder } from '../domain/order.ts';
import type { RetailerKey } from '../store/accounts/retailers.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import { createEarlierOrder, type EarlierOrderStore } from './earlier-order.ts';
import type { Caller } from './group-commit.ts';
import type { PlaceOnceOutcome } from './place-once.ts';
import type { PlaceOrderOperation, PlaceOrderOutcome } from './place-order.ts';
import { type Client, type RequestDedup, untilAborted } from './request-dedup.ts';

export type ConnectedCaller = Caller & { readonly signal: Client };

/** Places the order of a request without an idempotency key. */
export type PlaceUnkeyed = (
  request: PlaceOrder,
  key: RetailerKey,
  identity: Identity,
  caller: ConnectedCaller,
) => Promise<PlaceOnceOutcome>;

/**
 * Places orders of requests without a key. A reply that is lost is recorded with its order, and an equal
 * request gets that order, at this process or another. Nothing is written for a request that is answered, and
 * two equal requests at work do not know of each other.
 */
export function createPlaceUnkeyed(
  placeOrder: PlaceOrderOperation,
  dedup: RequestDedup,
  store: EarlierOrderStore,
  logger: Logger,
): PlaceUnkeyed {
  const earlierOrder = createEarlierOrder(store, dedup);

  return async function placeUnkeyed(request, key, identity, caller) {
    const client = caller.signal;
    const { fingerprint } = identity;
    if (!(await dedup.enter(fingerprint, client))) return { kind: 'unavailable' };
    let waiter = caller;
    while (!client.aborted) {
      const outcome = await place(request, key, identity, waiter);
      // Tiers, ZIP codes and the time change, so a request that was good before can be refused now.
      if (outcome.kind !== 'repeated' && outcome.kind !== 'unserviceable') return outcome;
      try {
        const order = await earlierOrder(fingerprint, client);
        if (order) return { kind: 'replayed', order };
        if (outcome.kind === 'unserviceable') return outcome;
      } catch (error) {
        logger.warn({ err: errorFields(error) }, 'the outcome of an equal request could not be read');
        break;
      }
      // The wait for the order of an equal request does not count as a wait for the commit.
      waiter = { ...caller, sinceMs: performance.now() };
    }
    return { kind: 'unavailable' };
  };

  /** Places an order; if its reply is lost while it may exist, that is recorded. */
  async function place(...[request, key, identity, caller]: Parameters<PlaceUnkeyed>): Promise<PlaceOrderOutcome> {
    const { signal: client } = caller;
    const orderId = newId();
    let mayExist = false;
    const onSent = () => {
      mayExist = true;
    };
    const placing = placeOrder(request, key, identity, { ...caller, onSent }, orderId);
    const isVoid = placing.then(
      ({ kind }) => kind !== 'created' && kind !== 'outcome_unknown',
      () => false,
    );
    let lost: Promise<void> | null = null;
    const lose = () => {
      lost ??= dedup.lost({ fingerprint: identity.fingerprint, orderId }, isVoid);
      return lost;
    };
    client.onAbort(() => mayExist && void lose());
    const outcome = await placing;
    if (await isVoid) mayExist = false;
    // Recorded before the reply, as the repeated request may come at once; the deadline bounds the wait.
    if (outcome.kind === 'outcome_unknown') {
      await Promise.race([lose(), untilAborted(client)]);
    }
    return outcome;
  }
}
