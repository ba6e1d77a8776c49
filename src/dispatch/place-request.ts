import type { Identity } from '../domain/idempotency.ts';
import type { PlaceOrder } from '../domain/order.ts';
import type { RetailerKey } from '../store/retailers.ts';
import type { PlaceOnce, PlaceOnceOutcome } from './place-once.ts';
import type { ConnectedCaller, PlaceUnkeyed } from './place-unkeyed.ts';

/** Places the order of a request once, however often the request is sent. */
export type PlaceRequest = (
  request: PlaceOrder,
  key: RetailerKey,
  identity: Identity,
  caller: ConnectedCaller,
) => Promise<PlaceOnceOutcome>;

/**
 * A request is identified by its idempotency key, or without one, once its reply was lost, by its
 * fingerprint.
 */
export function createPlaceRequest(placeKeyed: PlaceOnce, placeUnkeyed: PlaceUnkeyed): PlaceRequest {
  return (request, key, identity, caller) =>
    identity.key === null
      ? placeUnkeyed(request, key, identity, caller)
      : placeKeyed(request, key, { ...identity, key: identity.key }, caller);
}
