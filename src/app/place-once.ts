import type { Asker } from '../dispatch/group-commit.ts';
import { createPlaceOnce, type PlaceOnceOutcome } from '../dispatch/place-once.ts';
import type { PlaceOrderOutcome } from '../dispatch/place-order.ts';
import { type ClientAsks, createPlaceUnkeyed } from '../dispatch/place-unkeyed.ts';
import { createFingerprints } from '../dispatch/request-dedup.ts';
import type { Identity } from '../domain/idempotency.ts';
import type { PlaceOrder } from '../domain/order.ts';
import {
  MAX_UNSETTLED,
  SETTLE_PAUSE_MS,
  UNHEARD_KEPT_MS,
  UNHEARD_POLL_MS,
  UNHEARD_RELEASE_MS,
  UNHEARD_SILENT_MS,
} from '../limits.ts';
import type { Sql } from '../postgres/connect.ts';
import { findMade, findPlaced, settleUnknown } from '../store/orders-create.ts';
import {
  adoptAbandoned,
  findUnheard,
  forgetAbandoned,
  releaseFingerprints,
  rememberAbandoned,
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
  placeOrder: Place<[asker: Asker, orderId?: string], PlaceOrderOutcome>,
  sql: Sql,
  origin: string,
  logger: Logger,
  closers: Closers,
): Place<[asker: ClientAsks], PlaceOnceOutcome> {
  const placeKeyed = createPlaceOnce(placeOrder, (retailerId, key) => findPlaced(sql, retailerId, key), logger);
  const fingerprints = createFingerprints(
    {
      release: (some) => releaseFingerprints(sql, some, origin),
      remember: (fingerprint, orderId) => rememberAbandoned(sql, fingerprint, orderId, origin),
    },
    { releaseMs: UNHEARD_RELEASE_MS, retryMs: SETTLE_PAUSE_MS, keptMs: UNHEARD_KEPT_MS, maxWriting: MAX_UNSETTLED },
    logger,
  );
  closers.add('unheard requests', () => fingerprints.close());
  const placeUnkeyed = createPlaceUnkeyed(
    placeOrder,
    fingerprints,
    {
      find: (fingerprint) => findUnheard(sql, fingerprint),
      findMade: (orderId) => findMade(sql, orderId),
      settle: (id) => settleUnknown(sql, [{ id }]),
      adopt: (fingerprint, orderId, from) => adoptAbandoned(sql, fingerprint, orderId, from, origin),
      forget: (fingerprint, orderId) => forgetAbandoned(sql, fingerprint, orderId),
    },
    { pollMs: UNHEARD_POLL_MS, silentMs: UNHEARD_SILENT_MS, keptMs: UNHEARD_KEPT_MS },
    origin,
    logger,
  );
  return (request, key, identity, asker) =>
    identity.key === null
      ? placeUnkeyed(request, key, identity, asker)
      : placeKeyed(request, key, { ...identity, key: identity.key }, asker);
}
