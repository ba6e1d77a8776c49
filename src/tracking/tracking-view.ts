import type { Arrival } from '../domain/arrival.ts';
import type { OrderStatus, UndeliverableReason } from '../domain/order.ts';
import type { ShownPosition } from '../domain/shown-position.ts';
import type { Point } from '../geo/point.ts';

/** One step of a delivery on the page. A `failed` one is always the last. */
export type Stage = {
  readonly id: 'ordered' | 'driver_assigned' | 'picked_up' | 'delivered' | 'not_delivered';
  /** In English; a page says it in its reader's language. */
  readonly label: string;
  readonly state: 'done' | 'current' | 'upcoming' | 'failed';
  /** When it was reached, ISO 8601; null while it is ahead. */
  readonly at: string | null;
};

/**
 * What the tracking page shows, as JSON on the wire. Times are ISO 8601 in UTC. Its sentences are English; a
 * page makes those of its reader's language from the other fields.
 */
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
  /** The door; null until the driver has no other one before it, and where it is not well known. */
  readonly home: Point | null;
  readonly driver: { readonly first_name: string | null; readonly position: ShownPosition | null } | null;
  /** Other doors to which the driver goes first; null where no driver is under way with the order. */
  readonly stops_before: number | null;
  /** Whether it waits for its time or for the driver who is meant; then `arrival` is its window, or planned. */
  readonly is_planned: boolean;
  /** Whether an earlier driver gave the order back. */
  readonly was_released: boolean;
  /** Why the handover failed; null where it did not. */
  readonly reason: UndeliverableReason | null;
  /** A range in which the order arrives; null where no honest one is known. */
  readonly arrival: Arrival | null;
  /** Until when the order is promised; null once that is over. */
  readonly deliver_by: string | null;
  readonly photo_url: string | null;
  /** What the customer may change; null from the pickup on, and then nobody reads it here any more. */
  readonly dropoff_notes: { readonly instructions: string | null; readonly leave_at_door: boolean } | null;
};
