import type { OrderStatus } from '../domain/order.ts';
import type { TrackedOrder } from '../domain/tracked.ts';
import type { Point } from '../geo/point.ts';
import { TRACKING_GONE_AFTER_MS } from '../limits.ts';
import { type Arrival, arrivalOf } from './arrival.ts';
import { detail, headline } from './sentences.ts';
import { type Stage, stages } from './stages.ts';

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

/** What the tracking page shows, as JSON on the wire. Times are ISO 8601 in UTC. */
export type TrackingView = {
  readonly sequence: number;
  readonly status: OrderStatus;
  /** Whether nothing more will happen to the order. */
  readonly final: boolean;
  readonly headline: string;
  readonly detail: string;
  readonly stages: readonly Stage[];
  readonly store_name: string;
  readonly pickup: Point;
  readonly driver: { readonly first_name: string | null; readonly position: ShownPosition | null } | null;
  /** A range in which the order arrives; null where no honest one is known. */
  readonly arrival: Arrival | null;
  readonly photo_url: string | null;
  /** What the customer may change; null from the pickup on, and then nobody reads it here any more. */
  readonly dropoff_notes: { readonly instructions: string | null; readonly leave_at_door: boolean } | null;
};

const FINAL: readonly OrderStatus[] = ['delivered', 'cancelled', 'expired', 'returned'];
const WITH_DRIVER: readonly OrderStatus[] = ['driver_assigned', 'picked_up', 'delivered', 'undeliverable'];

/**
 * Everything a customer may know of an order at this moment, and nothing else.
 *
 * @param position the last position of the order's driver, or null where none is known
 * @param nowMs the database's clock
 */
export function trackingView(order: TrackedOrder, position: KnownPosition | null, nowMs: number): TrackingView {
  const shown = shownPosition(order.status, position, nowMs);
  return {
    sequence: order.sequence,
    status: order.status,
    final: FINAL.includes(order.status),
    headline: headline(order),
    detail: detail(order),
    stages: stages(order),
    store_name: order.storeName,
    pickup: { lat: order.pickup.lat, lng: order.pickup.lng },
    driver: WITH_DRIVER.includes(order.status) ? { first_name: order.driverFirstName || null, position: shown } : null,
    arrival: shownArrival(order, shown),
    photo_url: order.status === 'delivered' && order.hasPhoto ? `/track/${order.trackingToken}/photo` : null,
    dropoff_notes: maySayNotes(order)
      ? { instructions: order.dropoffInstructions, leave_at_door: order.leaveAtDoor }
      : null,
  };
}

/** Whether the customer may still say what the driver does at the door. */
export function maySayNotes({ status }: Pick<TrackedOrder, 'status'>): boolean {
  return status === 'pending_dispatch' || status === 'driver_assigned';
}

/** When the order arrives, by the position as the page sees it, so that the page learns no more from it. */
export function shownArrival(order: TrackedOrder, shown: ShownPosition | null): Arrival | null {
  const { status, pickup, dropoff } = order;
  return arrivalOf({ status, driver: shown && { point: shown, ageMs: shown.age_ms }, pickup, dropoff });
}

/**
 * The driver's position as the order's status allows it: exact between pickup and delivery, on a grid of
 * about 1 km between assignment and pickup, and never otherwise.
 */
export function shownPosition(
  status: OrderStatus,
  position: KnownPosition | null,
  nowMs: number,
): ShownPosition | null {
  if (!position || (status !== 'driver_assigned' && status !== 'picked_up')) return null;
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

/** Within ±`bound`, rounded to five decimals (1 m) against the noise of floating point. */
function clamp(degrees: number, bound: number): number {
  return Number(Math.min(bound, Math.max(-bound, degrees)).toFixed(5));
}

/**
 * The customer waits for nothing any more. An undeliverable order may still go back to the store, or never.
 */
const OVER: readonly OrderStatus[] = [...FINAL, 'undeliverable'];

/** Whether the order ended so long ago that its link no longer answers. */
export function isGone(order: TrackedOrder, nowMs: number): boolean {
  const endedAt = order.deliveredAt ?? order.endedAt;
  return OVER.includes(order.status) && endedAt !== null && nowMs - Date.parse(endedAt) > TRACKING_GONE_AFTER_MS;
}
