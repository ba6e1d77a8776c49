import { distanceMeters, type Point } from '../geo/point.ts';
import { below, GEOCODER_ACCURACY_METERS, PROOF_DROPOFF_METERS } from '../limits.ts';
import type { PlaceOnRoute, TrackedOrder } from './tracked.ts';

/**
 * Distance from another customer's door, whose parcel is on board, within which a driver is not shown: they may go
 * there first, whatever the route says. Above PROOF_DROPOFF_METERS, within which parcels are handed over.
 */
export const OTHER_DOOR_METERS = 300;

/**
 * Time after its promise, or its assignment if that was later, from which the driver of an order is not shown any more:
 * whoever forgot to say "Delivered" is at home by then.
 */
export const SHOWN_AFTER_PROMISE_MS = 3 * 3_600_000;

/* @__PURE__ */ below({ PROOF_DROPOFF_METERS }, { OTHER_DOOR_METERS });
/* @__PURE__ */ below({ OTHER_DOOR_METERS }, { GEOCODER_ACCURACY_METERS });

/** What decides where an order's driver is shown. Times as the tables have them, or in ISO 8601. */
export type ShownOrder = Pick<TrackedOrder, 'status' | 'onRoute'> & {
  readonly deliverBy: Date | string;
  readonly assignedAt: Date | string | null;
};

/** A driver's last position, timed by the database's clock. */
export type KnownPosition = { readonly lat: number; readonly lng: number; readonly atMs: number };

/** A driver's position as a customer may see it. */
export type ShownPosition = {
  readonly lat: number;
  readonly lng: number;
  /** `approximate` is the middle of a square of about 1 km in which the driver is. */
  readonly precision: 'exact' | 'approximate';
  readonly at: string;
  /** The age when this was written. A page counts on from it, so that its own clock need not be right. */
  readonly age_ms: number;
};

/**
 * The driver's position as the order's status allows it: exact between pickup and delivery, on a grid of
 * about 1 km between assignment and pickup, and never otherwise. It is not shown while the driver goes to
 * another customer's door first, nor while they are at one, as where they stand would tell where that is.
 * Nor is it shown from SHOWN_AFTER_PROMISE_MS on.
 */
export function shownPosition(
  { status, onRoute, deliverBy, assignedAt }: ShownOrder,
  position: KnownPosition | null,
  nowMs: number,
): ShownPosition | null {
  if (!position || !onRoute || !isShown({ status, onRoute }) || isAtOther(position, onRoute)) return null;
  const dueMs = Math.max(new Date(deliverBy).getTime(), new Date(assignedAt ?? 0).getTime());
  if (nowMs >= dueMs + SHOWN_AFTER_PROMISE_MS) return null;
  const exact = status === 'picked_up';
  const { lat, lng } = exact ? position : roundedToKilometer(position);
  return {
    lat,
    lng,
    precision: exact ? 'exact' : 'approximate',
    at: new Date(position.atMs).toISOString(),
    age_ms: Math.max(0, Math.round(nowMs - position.atMs)),
  };
}

/** Whether the driver is on the way with this order, and to no other door first. */
export function isShown({ status, onRoute }: Pick<TrackedOrder, 'status' | 'onRoute'>): boolean {
  return onRoute?.stopsBefore === 0 && (status === 'driver_assigned' || status === 'picked_up');
}

/**
 * Whether the driver is near another customer's door, and nearer than to this one. A door that is known by its street
 * is somewhere there; of one that is known by its ZIP code alone nothing more is known than its middle.
 */
function isAtOther(driver: Point, { door, otherDoors }: PlaceOnRoute): boolean {
  const toDoor = door ? distanceMeters(driver, door) : Number.POSITIVE_INFINITY;
  return otherDoors.some((other) => {
    const error = other.accuracyMeters <= GEOCODER_ACCURACY_METERS ? other.accuracyMeters : 0;
    const toOther = distanceMeters(driver, other);
    return toOther <= Math.max(OTHER_DOOR_METERS, error) && toOther < toDoor;
  });
}

/** A hundredth of a degree of latitude is 1.11 km everywhere. */
const GRID_DEGREES = 0.01;
/** Keeps the east-west step finite at the poles. */
const MIN_COSINE = 1e-4;

/** The nearest point of a fixed grid of about 1 km, so that all positions within one square look the same. */
export function roundedToKilometer({ lat, lng }: Point): Point {
  const gridLat = Math.round(lat / GRID_DEGREES) * GRID_DEGREES;
  const lngStep = GRID_DEGREES / Math.max(Math.cos((gridLat * Math.PI) / 180), MIN_COSINE);
  const gridLng = Math.round(lng / lngStep) * lngStep;
  return { lat: clamp(gridLat, 90), lng: clamp(gridLng, 180) };
}

/** How far in meters a corner of a square is from its middle: half of the diagonal of 1,112 by 1,112 m, rounded up. */
export const SHOWN_SQUARE_METERS = 800;

/**
 * The distance of a driver from a place as others may know it: in meters from the middle of the driver's square.
 * Distances from many places then tell the square, and no more.
 */
export function shownMeters(driver: Point, place: Point): number {
  return distanceMeters(roundedToKilometer(driver), place);
}

/** Within ±`bound`, rounded to five decimals (1 m) against the noise of floating point. */
function clamp(degrees: number, bound: number): number {
  return Number(Math.min(bound, Math.max(-bound, degrees)).toFixed(5));
}
