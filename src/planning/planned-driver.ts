import type { FleetDriver } from '../domain/driver.ts';
import { bestRoute, type CarriedOrder, type Stop } from '../domain/route.ts';
import { DEFAULT_VEHICLE, METERS_PER_MINUTE } from '../domain/vehicle.ts';
import { distanceMeters } from '../geo/point.ts';
import { DOOR_STOP_MS, POSITION_FRESH_MS, STORE_STOP_MS } from '../limits.ts';
import type { OpenOrder, PlannedDriver, ToldStop } from '../planner/types.ts';

/** Distance of a driver's position within which they are at their stop: a large car park, and an inaccurate phone. */
const AT_STOP_METERS = 100;

/** How much later than it seems a driver's next stop ends, in milliseconds (`OverdueStops.slipMs`). */
export type SlipOf = (driverId: string, stops: readonly Stop[], endMs: number) => number;

/**
 * A driver as the planner sees them: the stop they drive to as the place where they are free, and the others as
 * told, in the order in which the phone shows them. Null for one for whom nothing is planned: off duty, silent,
 * or on the way to a door that nobody knows.
 *
 * @param skills as `PlannedDriver` says
 * @param slipOf told of the next stop; nothing slides by default
 */
export function plannedDriver(
  driver: FleetDriver,
  nowMs: number,
  skills?: number,
  slipOf: SlipOf = () => 0,
): PlannedDriver | null {
  const { position, carried, vehicle = DEFAULT_VEHICLE } = driver;
  if (!driver.onDuty || !position || position.atMs < nowMs - POSITION_FRESH_MS) return null;
  const orders = new Map(carried.map((order) => [order.orderId, order]));
  const { stops } = bestRoute({ from: position, atMs: nowMs, vehicle }, carried);
  if (stops.some(({ point }) => point === null)) return null;
  const [next, ...later] = stops;
  const freeAtMs = next ? endOf(next, orders) : nowMs;
  const isThere = next?.point != null && distanceMeters(position, next.point) <= AT_STOP_METERS;
  return {
    id: driver.id,
    place: next?.point ?? { lat: position.lat, lng: position.lng },
    freeAtMs: freeAtMs + slipOf(driver.id, stops, freeAtMs),
    soonestMs: isThere ? freeAtMs : undefined,
    spare: roomOf(driver) - carried.length,
    isPickingUp: next?.kind === 'pickup',
    onDutyMs: 0,
    offDutyMs: driver.onDutyUntilMs ?? Number.POSITIVE_INFINITY,
    room: roomOf(driver),
    metersPerMinute: METERS_PER_MINUTE[vehicle],
    skills,
    told: later.flatMap((stop) => stop.orderIds.map((id) => toldStop(stop, orders.get(id) as CarriedOrder))),
  };
}

/** An order in a slot beyond a capacity that was lowered leaves room for none beside it. */
function roomOf({ carried, capacity = 1 }: FleetDriver): number {
  return carried.some(({ slot }) => slot >= capacity) ? carried.length : capacity;
}

/** When the driver may leave a stop: a parcel has to be ready, and a customer has their window. */
function endOf({ kind, orderIds, arriveMs }: Stop, orders: ReadonlyMap<string, CarriedOrder>): number {
  if (kind === 'dropoff') return arriveMs + DOOR_STOP_MS;
  const readyMs = orderIds.map((id) => (kind === 'pickup' ? (orders.get(id) as CarriedOrder).readyAtMs : 0));
  return Math.max(arriveMs + STORE_STOP_MS, ...readyMs);
}

/** A parcel that goes back to its store is one more to hand over, there. */
function toldStop({ kind }: Stop, order: CarriedOrder): ToldStop {
  const dropoff = order.step === 'returning' ? order.pickup : (order.dropoff ?? order.pickup);
  return { kind: kind === 'pickup' ? 'pickup' : 'dropoff', order: carriedOrder(order, dropoff) };
}

function carriedOrder(order: CarriedOrder, dropoff: OpenOrder['dropoff']): OpenOrder {
  return {
    id: order.orderId,
    pickup: order.pickup,
    dropoff,
    placedMs: order.readyAtMs,
    readyMs: order.readyAtMs,
    doorFromMs: order.deliverAfterMs,
    dueMs: order.deliverByMs,
    weight: 1,
    room: 1,
  };
}
