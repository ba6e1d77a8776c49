import type { Identity } from '../domain/idempotency.ts';
import type { PlaceOrder } from '../domain/order.ts';
import type { RetailerKey } from '../store/retailers.ts';
import type { PlaceOnce, PlaceOnceOutcome } from './place-once.ts';
import type { ClientAsks, PlaceUnkeyed } from './place-unkeyed.ts';

/** Places the order of a request once, however often it is sent. */
export type PlaceRequest = (
  request: PlaceOrder,
  key: RetailerKey,
  identity: Identity,
  caller: ClientAsks,
) => Promise<PlaceOnceOutcome>;

/** A request with an idempotency key is known by it; one without by what became of the replies to equal requests. */
export function createPlaceRequest(placeKeyed: PlaceOnce, placeUnkeyed: PlaceUnkeyed): PlaceRequest {
  return (request, key, identity, caller) =>
    identity.key === null
      ? placeUnkeyed(request, key, identity, caller)
      : placeKeyed(request, key, { ...identity, key: identity.key }, caller);
}
