import {
  doubtsAbout,
  type HandoverProof,
  happenedAtMs,
  isPlausibleStamp,
  type JudgedStep,
  placeOf,
  type Receipt,
  type StepReceived,
} from '../domain/payout.ts';
import { distanceMeters } from '../geo/point.ts';
import { PROOF_DROPOFF_METERS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Clock } from '../postgres/clock.ts';
import type { ActionStamp } from '../store/orders/driver-action.ts';
import type { Store } from '../store/store.ts';

/** Longest time between a position and the handover it proves. A car may be a kilometer away by then. */
export const PROOF_POSITION_MS = 60_000;

/** Finds out what is known of a driver's step at the moment of its receipt; null for an unknown order. */
export type Receipts = (
  step: JudgedStep,
  action: { readonly driverId: string; readonly orderId: string; readonly stamp: ActionStamp },
) => Promise<Receipt | null>;

/** Measures where drivers are when their steps are received, and what raises a doubt about each step. */
export function createReceipts(deps: {
  readonly matcher: Pick<Matcher, 'driver'>;
  readonly store: Pick<Store, 'findTrip'>;
  readonly clock: Clock;
}): Receipts {
  return async function receive(step, { orderId, driverId, stamp }) {
    const found = await deps.store.findTrip(orderId, driverId);
    if (!found) return null;
    // Another process may have had the last report, which it has written since.
    const position = newer(deps.matcher.driver(driverId)?.position ?? null, found.position);
    const received: StepReceived = {
      step,
      trip: found.trip,
      receivedAtMs: deps.clock.now(),
      capturedAtMs: stamp.capturedAt?.getTime() ?? null,
      position,
    };
    const place = placeOf(step, found.trip);
    return {
      distanceMeters: position && place ? Math.round(distanceMeters(position, place.point)) : null,
      positionAt: position && new Date(position.atMs),
      stampIsPlausible: isPlausibleStamp(received),
      doubts: doubtsAbout(received),
      proof: step === 'delivered' ? proofOf(received) : null,
      pickedUpAt: step === 'picked_up' ? whereItHappened(received) : null,
    };
  };
}

type Position = NonNullable<StepReceived['position']>;

function newer(one: Position | null, other: Position | null): Position | null {
  if (!one || !other) return one ?? other;
  return other.atMs > one.atMs ? other : one;
}

/**
 * Where a driver was when they made a step. Null if their last position is further than PROOF_POSITION_MS from
 * it, as for an action that a phone kept through a dead zone. The step was made when the phone says, or where
 * that cannot be, at its receipt.
 */
function whereItHappened(received: StepReceived): Position | null {
  const { position } = received;
  return position && Math.abs(happenedAtMs(received) - position.atMs) <= PROOF_POSITION_MS ? position : null;
}

/**
 * How far a driver was from the dropoff at the handover. Null if that is not known, or if the dropoff's point
 * is unknown or inaccurate by more than PROOF_DROPOFF_METERS.
 */
function proofOf(received: StepReceived): HandoverProof | null {
  const { trip } = received;
  const position = whereItHappened(received);
  if (!position || !trip.dropoff || trip.dropoff.accuracyMeters > PROOF_DROPOFF_METERS) return null;
  return {
    distanceMeters: Math.round(distanceMeters(position, trip.dropoff.point)),
    positionAt: new Date(position.atMs),
  };
}
