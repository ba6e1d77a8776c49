import { distanceMeters } from '../geo/point.ts';
import { PROOF_DROPOFF_METERS, PROOF_POSITION_MS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Clock } from '../postgres/clock.ts';
import type { HandoverProof } from '../store/lifecycle.ts';
import type { Store } from '../store/store.ts';

/** How far a driver is from an order's dropoff; `capturedAt` is when the phone says the parcel was handed over. */
export type ProofDistance = (
  orderId: string,
  driverId: string,
  capturedAt: Date | null,
) => Promise<HandoverProof | null>;

/**
 * Measures how far a driver was from the dropoff at the handover. Null where nothing honest can be said:
 * the dropoff is known too roughly or not at all, or the driver's last position is from another time than the handover
 * (an action kept through a dead zone is sent much later).
 */
export function createProofDistance(deps: {
  readonly matcher: Pick<Matcher, 'driver'>;
  readonly store: Pick<Store, 'findDropoffPoint'>;
  readonly clock: Clock;
}): ProofDistance {
  return async function proofDistance(orderId, driverId, capturedAt) {
    const position = deps.matcher.driver(driverId)?.position ?? null;
    const nowMs = deps.clock.now();
    // A phone's clock that leads is cut to now, as its positions are.
    const handedOverMs = Math.min(capturedAt?.getTime() ?? nowMs, nowMs);
    if (!position || Math.abs(handedOverMs - position.atMs) > PROOF_POSITION_MS) return null;
    const dropoff = await deps.store.findDropoffPoint(orderId);
    if (!dropoff || dropoff.accuracyMeters > PROOF_DROPOFF_METERS) return null;
    return {
      distanceMeters: Math.round(distanceMeters(position, dropoff.point)),
      positionAt: new Date(position.atMs),
    };
  };
}
