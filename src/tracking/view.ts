import { minutesUntil, shownArrival } from '../domain/arrival.ts';
import type { OrderStatus } from '../domain/order.ts';
import { type KnownPosition, shownPosition } from '../domain/shown-position.ts';
import type { TrackedOrder } from '../domain/tracked.ts';
import type { Point } from '../geo/point.ts';
import { below, PROOF_DROPOFF_METERS } from '../limits.ts';
import { speakTracking } from '../words/tracking.ts';
import { detail, headline, stageLabel } from './sentences.ts';
import type { Stage, TrackingView } from './tracking-view.ts';

/**
 * Largest error of a dropoff in meters at which the customer's map has a pin for it. Below
 * PROOF_DROPOFF_METERS: a pin in the next street reads as a wrong address.
 */
export const HOME_PIN_METERS = 150;
/** Time for which a tracking link works after its order ended, enough to look at the photo again. */
export const TRACKING_GONE_AFTER_MS = 7 * 24 * 3_600_000;
/**
 * Time after an order's end in which a page that comes back gets a socket, which tells it of the end at once; later it
 * asks over HTTP, after a few seconds. A page that is opened later opens none. Below TRACKING_GONE_AFTER_MS.
 */
const SOCKET_AFTER_END_MS = 3_600_000;

below({ SOCKET_AFTER_END_MS }, { TRACKING_GONE_AFTER_MS });
below({ HOME_PIN_METERS }, { PROOF_DROPOFF_METERS });

const FINAL: readonly OrderStatus[] = ['delivered', 'cancelled', 'expired', 'returned'];
const FAILED: readonly OrderStatus[] = ['undeliverable', 'returned'];
/**
 * The customer waits for nothing any more. An undeliverable order may still go back to the store, or never.
 */
const OVER: readonly OrderStatus[] = [...FINAL, 'undeliverable'];
const WITH_DRIVER: readonly OrderStatus[] = ['driver_assigned', 'picked_up', 'delivered', 'undeliverable'];

/** How far along the path each status is. Off the path, the order's times decide. */
const REACHED: Partial<Record<OrderStatus, number>> = {
  pending_dispatch: 0,
  driver_assigned: 1,
  picked_up: 2,
  delivered: 3,
};

/**
 * Everything a customer may know of an order at this moment, and nothing else.
 *
 * @param position the last position of the order's driver, or null where none is known
 * @param nowMs the database's clock
 */
export function trackingView(order: TrackedOrder, position: KnownPosition | null, nowMs: number): TrackingView {
  const shown = shownPosition(order, position, nowMs);
  const told = {
    sequence: order.sequence,
    status: order.status,
    final: FINAL.includes(order.status),
    stages: stages(order),
    store_name: order.storeName,
    pickup: { lat: order.pickup.lat, lng: order.pickup.lng },
    driver: WITH_DRIVER.includes(order.status) ? { first_name: order.driverFirstName || null, position: shown } : null,
    home: shownHome(order),
    stops_before: order.onRoute?.stopsBefore ?? null,
    was_released: order.wasReleased,
    reason: FAILED.includes(order.status) ? order.reason : null,
    arrival: order.planned ? minutesUntil(order.planned, nowMs) : shownArrival(order, shown, nowMs),
    deliver_by: OVER.includes(order.status) || Date.parse(order.deliverBy) <= nowMs ? null : order.deliverBy,
    is_planned: order.planned !== null,
    photo_url: order.status === 'delivered' && order.hasPhoto ? `/track/${order.trackingToken}/photo` : null,
    dropoff_notes: maySayNotes(order)
      ? { instructions: order.dropoffInstructions, leave_at_door: order.leaveAtDoor }
      : null,
  };
  return { ...told, headline: headline(told, speakTracking.en), detail: detail(told, speakTracking.en) };
}

/**
 * The steps of an order with their times. An order on its path shows the steps ahead; one that ended
 * undelivered shows the steps it reached and how it ended. The status decides, so a time left over from a
 * released driver shows nothing.
 */
function stages(order: TrackedOrder): Stage[] {
  return steps(order).map((step) => ({ ...step, label: stageLabel(step, order.status, speakTracking.en) }));
}

function steps(order: TrackedOrder): Omit<Stage, 'label'>[] {
  const path = [
    { id: 'ordered', at: order.createdAt },
    { id: 'driver_assigned', at: order.assignedAt },
    { id: 'picked_up', at: order.pickedUpAt },
    { id: 'delivered', at: order.deliveredAt },
  ] as const;
  if (REACHED[order.status] === undefined) {
    const reached = path.filter(
      (step) => step.at !== null && (step.id !== 'driver_assigned' || order.driverId !== null),
    );
    return [
      ...reached.map((step) => ({ ...step, state: 'done' as const })),
      { id: 'not_delivered', state: 'failed', at: order.endedAt },
    ];
  }
  const last = REACHED[order.status] ?? 0;
  return path.map((step, index) => {
    if (index > last) return { ...step, state: 'upcoming', at: null };
    return { ...step, state: index === last && index < path.length - 1 ? 'current' : 'done' };
  });
}

/** The door, once it is the next one on the driver's way, where it is known well enough for a pin. */
function shownHome({ status, onRoute, dropoff }: TrackedOrder): Point | null {
  if (status !== 'picked_up' || onRoute?.stopsBefore !== 0) return null;
  if (!dropoff || dropoff.accuracyMeters > HOME_PIN_METERS) return null;
  return { lat: dropoff.lat, lng: dropoff.lng };
}

/** Whether the customer may still say what the driver does at the door. */
export function maySayNotes({ status }: Pick<TrackedOrder, 'status'>): boolean {
  return status === 'pending_dispatch' || status === 'driver_assigned';
}

/** Whether the order ended so long ago that its link no longer answers. */
export function isGone(order: TrackedOrder, nowMs: number): boolean {
  return OVER.includes(order.status) && endedForMs(order, nowMs) > TRACKING_GONE_AFTER_MS;
}

/** Whether the order ended so long ago that no page of it needs a socket: one that has slept since then asks once. */
export function needsNoSocket(order: TrackedOrder, nowMs: number): boolean {
  const isFinal = FINAL.includes(order.status) && endedForMs(order, nowMs) > SOCKET_AFTER_END_MS;
  return isFinal || isGone(order, nowMs);
}

function endedForMs({ deliveredAt, endedAt }: TrackedOrder, nowMs: number): number {
  const at = deliveredAt ?? endedAt;
  return at === null ? 0 : nowMs - Date.parse(at);
}
