import type { DropoffPoint } from '../domain/dropoff.ts';
import { distanceMeters } from '../geo/point.ts';
import { PROOF_DROPOFF_METERS, PROOF_POSITION_MS } from '../limits.ts';
import type { HandoverProof } from '../store/lifecycle.ts';

type Position = { readonly lat: number; readonly lng: number; readonly atMs: number };

/**
 * Measures how far a driver was from the dropoff when he handed the parcel over. Null where nothing honest can be said:
 * the dropoff is known too roughly or not at all, or the driver's last position is from another time than the handover
 * (an action kept through a dead zone is sent much later).
 */
export function createProofDistance(deps: {
  readonly positionOf: (driverId: string) => Position | null;
  readonly findDropoff: (orderId: string) => Promise<DropoffPoint | null>;
  readonly now: () => number;
}): (orderId: string, driverId: string, capturedAt: Date | null) => Promise<HandoverProof | null> {
  return async (orderId, driverId, capturedAt) => {
    const position = deps.positionOf(driverId);
    const nowMs = deps.now();
    // A phone's clock that leads is cut to now, as its positions are.
    const handedOverMs = Math.min(capturedAt?.getTime() ?? nowMs, nowMs);
    if (!position || Math.abs(handedOverMs - position.atMs) > PROOF_POSITION_MS) return null;
    const dropoff = await deps.findDropoff(orderId);
    if (!dropoff || dropoff.accuracyMeters > PROOF_DROPOFF_METERS) return null;
    return {
      distanceMeters: Math.round(distanceMeters(position, dropoff.point)),
      positionAt: new Date(position.atMs),
    };
  };
}
