import { distanceMeters, type Point } from '../geo/point.ts';
import { atMost, below, GEOCODER_ACCURACY_METERS, POSITION_FRESH_MS, PROOF_DROPOFF_METERS } from '../limits.ts';
import { SHOWN_SQUARE_METERS } from './shown-position.ts';

/**
 * Speed in meters per second, in a straight line from stop to stop, above which nobody delivers: 144 km/h. The
 * payout of a delivery that needed more is held.
 */
export const PLAUSIBLE_METERS_PER_SECOND = 40;
/** Shortest plausible time from an assignment to the end of the order, even where both are next door. */
export const MIN_DELIVERY_MS = 30_000;
/**
 * Distance from the store, beyond what its point is off, at which a driver cannot be there. A store's point may
 * be the middle of a town's ZIP, and a fix between tall buildings is off by hundreds of meters.
 */
export const STORE_FAR_METERS = 2_000;
/** The same distance from a customer's door, whose accuracy is known. Above PROOF_DROPOFF_METERS. */
export const DOOR_FAR_METERS = 1_000;
/**
 * Distance from the pickup in meters within which a driver has not left it: a store with its parking lot, and
 * the error of a phone between houses. At least CUSTOMER_SHOWN_METERS.
 */
export const STILL_AT_PICKUP_METERS = 300;
/**
 * Distance in meters from the pickup to a door up to which a driver at the one may be at the other: what each of
 * two fixes may be off. At least twice STILL_AT_PICKUP_METERS and below DOOR_FAR_METERS.
 */
export const NEIGHBOUR_METERS = 600;
/** Age at which a position says nothing of where a driver is by now. Above POSITION_FRESH_MS. */
export const RECEIPT_POSITION_MS = 10 * 60_000;
/** Most by which the clock of a phone that is set by hand may be off. Above MAX_CLOCK_LEAD_MS. */
export const STAMP_SKEW_MS = 5 * 60_000;
/** Longest time for which a phone keeps an action that it cannot send. Above STAMP_SKEW_MS. */
export const STAMP_KEPT_MS = 24 * 60 * 60_000;

below({ PROOF_DROPOFF_METERS }, { DOOR_FAR_METERS });
atMost({ '2 × STILL_AT_PICKUP_METERS': 2 * STILL_AT_PICKUP_METERS }, { NEIGHBOUR_METERS });
below({ NEIGHBOUR_METERS }, { DOOR_FAR_METERS });
below({ POSITION_FRESH_MS }, { RECEIPT_POSITION_MS });
below({ STAMP_SKEW_MS }, { STAMP_KEPT_MS });

/** The statuses of a driver's payout: `held` → `owed` → `paid`; `void` for one that the operator refuses. */
export const PAYOUT_STATUSES = ['held', 'owed', 'paid', 'void'] as const;
export type PayoutStatus = (typeof PAYOUT_STATUSES)[number];

/** Why a payout is held. All but the first two are doubts whether the delivery happened. */
export const HELD_REASONS = [
  'unpaid',
  'disputed',
  'too_fast',
  'pickup_far',
  'handover_far',
  'at_pickup',
  'blank_photo',
  'no_photo',
  'no_position',
  'implausible_time',
] as const;
export type HeldReason = (typeof HELD_REASONS)[number];
export type Doubt = Exclude<HeldReason, 'unpaid' | 'disputed'>;

/** A place that an order names; the true one is within `accuracyMeters` of the point. */
export type Place = { readonly point: Point; readonly accuracyMeters: number };

/** What a driver had to do for an order. Times are milliseconds since 1970 by the database's clock. */
export type Trip = {
  readonly assignedAtMs: number | null;
  /** The driver's distance from the pickup when the order was assigned, as its store knows it (`shownMeters`). */
  readonly approachMeters: number;
  readonly pickup: Place;
  /** Null where the address could not be located. */
  readonly dropoff: Place | null;
  /** Where the driver was when they picked the parcel up; null before that, and where it is not known. */
  readonly pickedUpAt: Point | null;
  /** Whether the addresses say that the door is at the pickup or a few houses away. */
  readonly areNeighbours: boolean;
};

/** The steps of a driver that are judged, by the status that each leads to. */
export type JudgedStep = 'picked_up' | 'delivered' | 'undeliverable' | 'returned';

/** What is known of a driver's step when it is received. */
export type StepReceived = {
  readonly step: JudgedStep;
  readonly trip: Trip;
  readonly receivedAtMs: number;
  readonly capturedAtMs: number | null;
  /** The driver's last position. */
  readonly position: (Point & { readonly atMs: number }) | null;
};

/** The driver's distance from the dropoff in whole meters, and the time of that position. */
export type HandoverProof = { readonly distanceMeters: number; readonly positionAt: Date };

/** What is known of a driver's action when it is received, beyond what they say of it. */
export type Receipt = {
  /** Where the driver was by then: from where the action belongs, in whole meters. Null where not known. */
  readonly distanceMeters: number | null;
  readonly positionAt: Date | null;
  readonly stampIsPlausible: boolean;
  readonly doubts: readonly Doubt[];
  /** Where the driver was when they handed the parcel over; null for another action, and where not known. */
  readonly proof: HandoverProof | null;
  /** Where the driver was when they picked the parcel up; null for another action, and where not known. */
  readonly pickedUpAt: Point | null;
};

/**
 * The doubts about a driver's step. No step is refused for a doubt, since a position can be wrong.
 *
 * The time of a step is that of its receipt: a phone that was offline sends several at once, so the time
 * between two receipts means nothing, and the phone's own time may be invented.
 */
export function doubtsAbout(received: StepReceived): Doubt[] {
  const doubts: Doubt[] = [];
  if (isTooFast(received)) doubts.push('too_fast');
  const far = farDoubt(received) ?? stillAtPickup(received);
  if (far) doubts.push(far);
  if (!isPlausibleStamp(received)) doubts.push('implausible_time');
  return doubts;
}

/** The photo of a handover; null where the driver's camera is broken. */
export type HandoverPhoto = {
  readonly name: string;
  /** Whether it shows nothing. */
  readonly isBlank: boolean;
};

/** The receipt of a delivery with what its photo tells. */
export function withPhoto(receipt: Receipt | null, photo: HandoverPhoto | null): Receipt | null {
  const doubt = photo === null ? 'no_photo' : photo.isBlank ? 'blank_photo' : null;
  return receipt && doubt ? { ...receipt, doubts: [...receipt.doubts, doubt] } : receipt;
}

/** Where a step happens; null where that is not known. */
export function placeOf(step: JudgedStep, { pickup, dropoff }: Trip): Place | null {
  return step === 'picked_up' || step === 'returned' ? pickup : dropoff;
}

/** Whether the phone's time of a step can be; none at all can. */
export function isPlausibleStamp({ trip, receivedAtMs, capturedAtMs }: StepReceived): boolean {
  if (capturedAtMs === null) return true;
  const oldestMs = Math.max((trip.assignedAtMs ?? 0) - STAMP_SKEW_MS, receivedAtMs - STAMP_KEPT_MS);
  return capturedAtMs >= oldestMs && capturedAtMs <= receivedAtMs + STAMP_SKEW_MS;
}

/** When a step was made: as the phone says, between the assignment and the receipt; else at its receipt. */
export function happenedAtMs(received: StepReceived): number {
  const { trip, receivedAtMs, capturedAtMs } = received;
  if (capturedAtMs === null || !isPlausibleStamp(received)) return receivedAtMs;
  return Math.min(Math.max(capturedAtMs, trip.assignedAtMs ?? 0), receivedAtMs);
}

/** Whether the order ends sooner after its assignment than its whole way allows in a straight line. */
function isTooFast({ step, trip, receivedAtMs }: StepReceived): boolean {
  if ((step !== 'delivered' && step !== 'returned') || trip.assignedAtMs === null) return false;
  const leg = trip.dropoff ? surelyApart(trip.pickup, trip.dropoff) : 0;
  const approachMeters = Math.max(0, trip.approachMeters - SHOWN_SQUARE_METERS);
  const wayMeters = approachMeters + (step === 'returned' ? 2 * leg : leg);
  const shortestMs = Math.max(MIN_DELIVERY_MS, (wayMeters / PLAUSIBLE_METERS_PER_SECOND) * 1_000);
  return receivedAtMs - trip.assignedAtMs < shortestMs;
}

/** The smallest distance of two places in meters, as inaccurate as they are. */
function surelyApart(a: Place, b: Place): number {
  return Math.max(0, distanceMeters(a.point, b.point) - a.accuracyMeters - b.accuracyMeters);
}

/**
 * Allows for the place's accuracy, and for the way that the driver may have made between the step and their
 * last position. A step is where its driver is at its receipt. Only a pick-up that a phone kept counts from
 * the phone's time: its driver has gone on to the door, where the rest of the order shows them.
 */
function farDoubt(received: StepReceived): Doubt | null {
  const { step, trip, receivedAtMs, position } = received;
  if (!position || receivedAtMs - position.atMs > RECEIPT_POSITION_MS) return 'no_position';
  const place = placeOf(step, trip);
  if (!place) return null;
  const stepAtMs = step === 'picked_up' ? happenedAtMs(received) : receivedAtMs;
  const movedMeters = (Math.abs(stepAtMs - position.atMs) / 1_000) * PLAUSIBLE_METERS_PER_SECOND;
  const allowedMeters = place.accuracyMeters + movedMeters;
  const atStore = place === trip.pickup;
  const isFar = distanceMeters(position, place.point) - allowedMeters > (atStore ? STORE_FAR_METERS : DOOR_FAR_METERS);
  if (!isFar) return null;
  return step === 'picked_up' ? 'pickup_far' : 'handover_far';
}

/**
 * Doubts a handover of a driver who has not left the pickup, as far as their last position tells, for a door
 * that is elsewhere. What a ZIP's point may be off is no reason to believe that the door is at the store.
 *
 * The pickup is the order's point, and also where the driver was when they picked the parcel up, since the
 * point may be off as well.
 */
function stillAtPickup({ step, trip, position }: StepReceived): Doubt | null {
  if ((step !== 'delivered' && step !== 'undeliverable') || !position || trip.areNeighbours) return null;
  const { pickup, pickedUpAt } = trip;
  const pickups = pickup.accuracyMeters <= GEOCODER_ACCURACY_METERS ? [pickup.point, pickedUpAt] : [pickedUpAt];
  const isStill = (at: Point | null) =>
    at !== null && distanceMeters(position, at) <= STILL_AT_PICKUP_METERS && isElsewhere(trip.dropoff, at);
  return pickups.some(isStill) ? 'at_pickup' : null;
}

/** Whether a door is elsewhere than a pickup. One whose street is not known is, but for the addresses. */
function isElsewhere(door: Place | null, pickup: Point): boolean {
  if (!door || door.accuracyMeters > GEOCODER_ACCURACY_METERS) return true;
  return distanceMeters(door.point, pickup) > NEIGHBOUR_METERS;
}
