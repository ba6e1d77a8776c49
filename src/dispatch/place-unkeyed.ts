import type { Identity } from '../domain/idempotency.ts';
import { newId } from '../domain/ids.ts';
import type { PlaceOrder } from '../domain/order.ts';
import type { RetailerKey } from '../store/retailers.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import { createEarlierOrder, type EarlierOrderBounds, type EarlierOrderStore } from './earlier-order.ts';
import type { Caller } from './group-commit.ts';
import type { PlaceOnceOutcome } from './place-once.ts';
import type { PlaceOrderOperation } from './place-order.ts';
import type { RequestDedup } from './request-dedup.ts';

/** The connection that waits for the reply. In the end exactly one of the two events happens. */
export type Client = {
  readonly aborted: boolean;
  /** The connection closed, or the deadline was answered, before the reply. */
  onAbort(listener: () => void): void;
  onAnswered(listener: () => void): void;
};

export type ConnectedCaller = Caller & { readonly signal: Client };

/** Places the order of a request without an idempotency key. */
export type PlaceUnkeyed = (
  request: PlaceOrder,
  key: RetailerKey,
  identity: Identity,
  caller: ConnectedCaller,
) => Promise<PlaceOnceOutcome>;

/**
 * Places orders of requests without a key. A request gets the order of an equal one whose reply was lost, at
 * this process or another. It waits for an equal one in progress at another process. Two equal requests that
 * were both answered are two orders.
 *
 * @param dedup the requests in progress at this process
 */
export function createPlaceUnkeyed(
  placeOrder: PlaceOrderOperation,
  dedup: RequestDedup,
  store: EarlierOrderStore,
  bounds: EarlierOrderBounds,
  logger: Logger,
): PlaceUnkeyed {
  const earlierOrder = createEarlierOrder(store, bounds);

  return async function placeUnkeyed(request, key, identity, caller) {
    const client = caller.signal;
    const { fingerprint } = identity;
    if (!(await dedup.enter(fingerprint, client))) return { kind: 'unavailable' };
    let waiter: Caller = caller;
    /** The order that a repeated request gets if this reply is lost. */
    let orderId: string | null = null;
    let isOurs = Promise.resolve(true);
    let ended: Promise<void> | null = null;
    function end(isAnswered: boolean): Promise<void> {
      if (!ended && (isAnswered || orderId === null)) {
        dedup.answered(fingerprint);
        ended = Promise.resolve();
      }
      ended ??= dedup.abandoned(fingerprint, orderId as string, isOurs);
      return ended;
    }
    client.onAbort(() => void end(false));
    client.onAnswered(() => void end(true));

    while (!client.aborted) {
      orderId = newId();
      const outcome = await placeOrder(request, key, identity, waiter, orderId);
      if (outcome.kind === 'created') return outcome;
      if (outcome.kind === 'outcome_unknown') {
        // Recorded before the reply, as the repeated request may come at once; the deadline bounds the wait.
        await Promise.race([end(false), new Promise<void>((resolve) => client.onAbort(resolve))]);
        return outcome;
      }
      orderId = null;
      if (outcome.kind !== 'repeated') return outcome;
      try {
        const earlier = await earlierOrder(fingerprint, client, (id, adopted) => {
          orderId = id;
          isOurs = adopted;
        });
        if (earlier) return { kind: 'replayed', order: earlier };
        // The wait for an equal request does not count as a wait for the commit.
        waiter = { ...caller, sinceMs: performance.now() };
      } catch (error) {
        logger.warn({ err: errorFields(error) }, 'the outcome of an equal request could not be read');
        await end(false);
        break;
      }
    }
    return { kind: 'unavailable' };
  };
}
