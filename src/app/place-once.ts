import type { Caller } from '../dispatch/group-commit.ts';
import { createPlaceOnce, type PlaceOnceOutcome } from '../dispatch/place-once.ts';
import type { PlaceOrderOutcome } from '../dispatch/place-order.ts';
import { type ClientAsks, createPlaceUnkeyed } from '../dispatch/place-unkeyed.ts';
import { createRequestDedup } from '../dispatch/request-dedup.ts';
import type { Identity } from '../domain/idempotency.ts';
import type { PlaceOrder } from '../domain/order.ts';
import {
  DEDUP_KEPT_MS,
  DEDUP_POLL_MS,
  DEDUP_RELEASE_MS,
  DEDUP_SILENT_MS,
  MAX_UNKNOWN_OUTCOMES,
  RESOLVE_PAUSE_MS,
} from '../limits.ts';
import type { Sql } from '../postgres/connect.ts';
import { findMade, findPlaced, resolveUnknown } from '../store/orders-create.ts';
import {
  adoptUndelivered,
  findEarlierRequest,
  forgetUndelivered,
  recordUndelivered,
  releaseRequests,
} from '../store/request-dedup.ts';
import type { RetailerKey } from '../store/retailers.ts';
import type { Logger } from '../telemetry.ts';
import type { Closers } from './closers.ts';

type Place<Rest extends unknown[], Outcome> = (
  request: PlaceOrder,
  key: RetailerKey,
  identity: Identity,
  ...rest: Rest
) => Promise<Outcome>;

/** One order for each request, however often it is sent: by its key, or without one by what became of its replies. */
export function buildPlaceOnce(
  placeOrder: Place<[caller: Caller, orderId?: string], PlaceOrderOutcome>,
  sql: Sql,
  origin: string,
  logger: Logger,
  closers: Closers,
): Place<[caller: ClientAsks], PlaceOnceOutcome> {
  const placeKeyed = createPlaceOnce(placeOrder, (retailerId, key) => findPlaced(sql, retailerId, key), logger);
  const fingerprints = createRequestDedup(
    {
      release: (some) => releaseRequests(sql, some, origin),
      remember: (fingerprint, orderId) => recordUndelivered(sql, fingerprint, orderId, origin),
    },
    { releaseMs: DEDUP_RELEASE_MS, retryMs: RESOLVE_PAUSE_MS, keptMs: DEDUP_KEPT_MS, maxWriting: MAX_UNKNOWN_OUTCOMES },
    logger,
  );
  closers.add('unheard requests', () => fingerprints.close());
  const placeUnkeyed = createPlaceUnkeyed(
    placeOrder,
    fingerprints,
    {
      find: (fingerprint) => findEarlierRequest(sql, fingerprint),
      findMade: (orderId) => findMade(sql, orderId),
      settle: (id) => resolveUnknown(sql, [{ id }]),
      adopt: (fingerprint, orderId, from) => adoptUndelivered(sql, fingerprint, orderId, from, origin),
      forget: (fingerprint, orderId) => forgetUndelivered(sql, fingerprint, orderId),
    },
    { pollMs: DEDUP_POLL_MS, silentMs: DEDUP_SILENT_MS, keptMs: DEDUP_KEPT_MS },
    origin,
    logger,
  );
  return (request, key, identity, caller) =>
    identity.key === null
      ? placeUnkeyed(request, key, identity, caller)
      : placeKeyed(request, key, { ...identity, key: identity.key }, caller);
}
