import { distanceMeters, type Point } from '../../geo/point.ts';
import { ARRIVAL_DETOUR } from '../../limits.ts';
import type { DriverOrder, Stop } from './state.ts';

/** The stops of a driver, as pure functions. */

/** The stops that an order of a status still needs. */
const NEEDED: Readonly<Record<string, readonly Stop['kind'][]>> = {
  driver_assigned: ['pickup', 'dropoff'],
  picked_up: ['dropoff'],
  undeliverable: ['return'],
};

/** A driver at a customer's door, until the handover is over. */
export type Door = {
  readonly orderId: string;
  /** The orders that they carried when they arrived; the route gains no other one before they are done. */
  readonly knownIds: readonly string[];
};

/** A stop that the driver wants to make before the others: the first of this kind that has this order. */
export type Choice = { readonly kind: Stop['kind']; readonly orderId: string };

/** The orders that a driver is shown: all, or at a door those that they knew before. */
export function ordersAt(orders: readonly DriverOrder[], door: Door | null): readonly DriverOrder[] {
  return door ? orders.filter(({ id }) => door.knownIds.includes(id)) : orders;
}

/**
 * The stops that are left, in the order of driving, the next one first: each as the service planned it without
 * what the driver has done since, and a stop of its own for what the service has not planned yet. Each parcel
 * is handed over by itself. The chosen stop comes first where it can be made.
 *
 * @param planned the service's list, which may be older than the orders
 */
export function stopsLeft(planned: readonly Stop[], orders: readonly DriverOrder[], choice: Choice | null): Stop[] {
  const statuses = new Map(orders.map(({ id, status }) => [id, status]));
  const needs = (id: string, kind: Stop['kind']) => NEEDED[statuses.get(id) ?? '']?.includes(kind) ?? false;
  const left = planned.flatMap((stop) => {
    const order_ids = stop.order_ids.filter((id) => needs(id, stop.kind));
    if (stop.kind === 'dropoff') return order_ids.map((id) => ({ ...stop, order_ids: [id] }));
    return order_ids.length > 0 ? [{ ...stop, order_ids }] : [];
  });
  for (const order of orders) {
    for (const kind of NEEDED[order.status] ?? []) {
      if (!left.some((stop) => isAt(stop, { kind, orderId: order.id }))) addStop(left, kind, order);
    }
  }
  const isPossible = (stop: Stop) => canGoTo(stop, orders);
  const chosen = choice ? left.find((stop) => isAt(stop, choice) && isPossible(stop)) : undefined;
  const next = chosen ?? left.find(isPossible);
  return next ? [next, ...left.filter((stop) => stop !== next)] : left;
}

function isAt(stop: Stop, { kind, orderId }: Choice): boolean {
  return stop.kind === kind && stop.order_ids.includes(orderId);
}

/** Whether the driver can make a stop now: a parcel is handed over after its pickup. */
export function canGoTo({ kind, order_ids }: Stop, orders: readonly DriverOrder[]): boolean {
  return kind !== 'dropoff' || orders.some(({ id, status }) => order_ids.includes(id) && status === 'picked_up');
}

/** Adds an order's stop at the end, or to the one that is made at its store for the same reason. */
function addStop(stops: Stop[], kind: Stop['kind'], { id, pickup }: DriverOrder): void {
  if (kind === 'dropoff') {
    stops.push({ kind, lat: null, lng: null, order_ids: [id] });
    return;
  }
  const { lat, lng } = pickup;
  const there = stops.findIndex((stop) => stop.kind === kind && stop.lat === lat && stop.lng === lng);
  const same = stops[there];
  if (same) stops[there] = { ...same, order_ids: [...same.order_ids, id] };
  else stops.push({ kind, lat, lng, order_ids: [id] });
}

/** The place of a stop; null where it is not known. */
export function pointOf({ lat, lng }: Pick<Stop, 'lat' | 'lng'>): Point | null {
  return lat === null || lng === null ? null : { lat, lng };
}

/** The way to a place by road in meters, about; null where one of both places is not known. */
export function wayMeters(from: Point | null, place: Pick<Stop, 'lat' | 'lng'>): number | null {
  const to = pointOf(place);
  return from && to ? distanceMeters(from, to) * ARRIVAL_DETOUR : null;
}

/** A position of the phone; the true one is within `accuracyMeters` of it. */
export type Fix = Point & { readonly accuracyMeters: number };

/**
 * How far a driver is from the door at which they hand over, in meters, where that is surely more than
 * `mostMeters`; else null, also where one of both places is not known.
 */
export function farFromDoor(fix: Fix | null, door: Stop, mostMeters: number): number | null {
  const point = pointOf(door);
  if (!fix || !point) return null;
  const meters = distanceMeters(fix, point);
  return meters - fix.accuracyMeters - (door.accuracy_m ?? 0) > mostMeters ? meters : null;
}
