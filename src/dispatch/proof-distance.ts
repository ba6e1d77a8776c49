import { distanceMeters } from '../geo/point.ts';
import { PROOF_DROPOFF_METERS, PROOF_POSITION_MS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Clock } from '../postgres/clock.ts';
import type { HandoverProof } from '../store/lifecycle.ts';
import type { Store } from '../store/store.ts';

/**
 * A driver's distance from an order's dropoff; `capturedAt` is the time of the handover by the phone's clock.
 */
export type ProofDistance = (
  orderId: string,
  driverId: string,
  capturedAt: Date | null,
) => Promise<HandoverProof | null>;

/**
 * Measures how far a driver was from the dropoff at the handover. Null if the dropoff's point is unknown or
 * inaccurate by more than PROOF_DROPOFF_METERS, or if the driver's last position is further than
 * PROOF_POSITION_MS from the time of the handover, as for an action that a phone kept through a dead zone.
 */
export function createProofDistance(deps: {
  readonly matcher: Pick<Matcher, 'driver'>;
  readonly store: Pick<Store, 'findDropoffPoint'>;
  readonly clock: Clock;
}): ProofDistance {
  return async function proofDistance(orderId, driverId, capturedAt) {
    const position = deps.matcher.driver(driverId)?.position ?? null;
    const nowMs = deps.clock.now();
    // A time in the future counts as now, as in position reports.
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
