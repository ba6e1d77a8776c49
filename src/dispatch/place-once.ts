import { type Idempotency, isSameRequest } from '../domain/idempotency.ts';
import type { EarlierOrder, PlaceOrder } from '../domain/order.ts';
import type { RetailerKey } from '../store/accounts/retailers.ts';
import type { PlacedOrder } from '../store/orders/placed-orders.ts';
import type { Store } from '../store/store.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import type { Caller } from './group-commit.ts';
import type { PlaceOrderOperation, PlaceOrderOutcome } from './place-order.ts';

/**
 * `replayed`: the order that the key created before. `key_reused`: the key created an order of other content.
 */
export type PlaceOnceOutcome =
  | Exclude<PlaceOrderOutcome, { kind: 'repeated' }>
  | { readonly kind: 'replayed'; readonly order: EarlierOrder }
  | { readonly kind: 'key_reused'; readonly orderId: string };

/** Places the order of a request with an idempotency key. */
export type PlaceOnce = (
  request: PlaceOrder,
  key: RetailerKey,
  idempotency: Idempotency,
  caller: Caller,
) => Promise<PlaceOnceOutcome>;
type Placed = { readonly outcome: PlaceOnceOutcome; readonly placed: PlacedOrder | null };

/**
 * Places an order once for each idempotency key of a store. A request waits for one with the same key in
 * progress at this process. One that comes later, or at another process, is refused by the unique index over
 * the keys and reads the existing order. Only a created order binds its key.
 */
export function createPlaceOnce(
  placeOrder: PlaceOrderOperation,
  store: Pick<Store, 'findPlacedByKeys'>,
  logger: Logger,
): PlaceOnce {
  /** By store and key. Its size is bounded by the requests in flight. */
  const underWay = new Map<string, Promise<PlacedOrder | null>>();

  return async function placeOnce(request, key, idempotency, caller) {
    const slot = `${key.retailerId} ${idempotency.key}`;
    for (let before = underWay.get(slot); before; before = underWay.get(slot)) {
      const placed = await before;
      if (placed) return judge(placed, request, idempotency);
    }
    const placing = place(request, key, idempotency, caller);
    const ended = placing
      .then(
        ({ placed }) => placed,
        () => null,
      )
      .finally(() => underWay.delete(slot));
    underWay.set(slot, ended);
    return (await placing).outcome;
  };

  async function place(...[request, key, idempotency, caller]: Parameters<PlaceOnce>): Promise<Placed> {
    const outcome = await placeOrder(request, key, idempotency, caller);
    if (outcome.kind === 'created') {
      const order = { ...outcome.order, statusNow: outcome.order.status };
      return { outcome, placed: { order, fingerprint: idempotency.fingerprint } };
    }
    if (outcome.kind === 'unauthorized') return { outcome, placed: null };
    // If the key created an order before, that order is the answer, whatever refused this request.
    const placed = await find(key.retailerId, idempotency.key);
    if (placed !== null && placed !== 'unknown') return { outcome: judge(placed, request, idempotency), placed };
    const isTaken = outcome.kind === 'key_used' || outcome.kind === 'repeated';
    // Tiers, ZIP codes and the time change, so a request that was good before can be refused now.
    const isOpen = outcome.kind === 'unserviceable' && placed === 'unknown';
    return { outcome: isTaken || isOpen ? { kind: 'unavailable' } : outcome, placed: null };
  }

  async function find(retailerId: string, idempotencyKey: string): Promise<PlacedOrder | 'unknown' | null> {
    try {
      const placed = await store.findPlacedByKeys(retailerId, [idempotencyKey]);
      return placed.get(idempotencyKey) ?? null;
    } catch (error) {
      logger.warn({ err: errorFields(error) }, 'the order of an idempotency key could not be read');
      return 'unknown';
    }
  }
}

/** What a request gets whose key created `order`, of the content that `fingerprint` tells. */
export function judge(
  { order, fingerprint }: PlacedOrder,
  request: PlaceOrder,
  asked: Pick<Idempotency, 'fingerprint'>,
): PlaceOnceOutcome {
  const isSame = fingerprint === asked.fingerprint || isSameRequest(fingerprint, request);
  return isSame ? { kind: 'replayed', order } : { kind: 'key_reused', orderId: order.id };
}
