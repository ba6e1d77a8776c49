import { travelMs } from '../domain/route.ts';
import { carries, DEFAULT_SIZE, METERS_PER_MINUTE, type Vehicle } from '../domain/vehicle.ts';
import type { WaitingOrder } from '../domain/waiting-order.ts';
import { distanceMeters, type Point } from '../geo/point.ts';
import { ARRIVAL_DETOUR, STORE_STOP_MS } from '../limits.ts';

/** What an order asks of a driver's vehicle and time. */
export type Load = Pick<WaitingOrder, 'size' | 'dropoff' | 'readyAtMs' | 'deliverAfterMs'> & { readonly pickup: Point };

/** A driver without an order: what they drive, and when they go home, in milliseconds since 1970. */
export type Carrier = { readonly vehicle: Vehicle; readonly untilMs: number };

/**
 * Whether a driver who carries nothing can do an order: the vehicle holds the parcel, and the trip from a
 * place `meters` from the pickup ends before they go home. They wait for a parcel that is not ready, and for a window
 * that has not begun, as `bestRoute` has it.
 */
export function canDo({ vehicle, untilMs }: Carrier, load: Load, meters: number, nowMs: number): boolean {
  if (!carries(vehicle, load.size ?? DEFAULT_SIZE)) return false;
  if (untilMs === Number.POSITIVE_INFINITY) return true;
  const toPickupMs = ((meters * ARRIVAL_DETOUR) / METERS_PER_MINUTE[vehicle]) * 60_000;
  const leaveMs = Math.max(nowMs + toPickupMs + STORE_STOP_MS, load.readyAtMs ?? 0);
  const doorMs = leaveMs + travelMs(load.pickup, load.dropoff ?? null, vehicle);
  return Math.max(doorMs, load.deliverAfterMs ?? 0) <= untilMs;
}

/** The same for a driver at a place. */
export function canDoFrom(place: Point & Carrier, load: Load, nowMs: number): boolean {
  return canDo(place, load, distanceMeters(place, load.pickup), nowMs);
}
