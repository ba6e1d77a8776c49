import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Fragment, Row, Sql } from 'postgres';
import { type ShownRoute, shownRoute } from '../../domain/shown-route.ts';
import type { PlaceOnRoute } from '../../domain/tracked.ts';
import type { Vehicle } from '../../domain/vehicle.ts';
import { POSITION_FRESH_MS } from '../../limits.ts';
import { toCarried } from '../drivers/carried.ts';
import { active } from '../fragments.ts';
import { promisedBy } from './order-times.ts';

/**
 * Most parcels whose routes are planned in one turn of a read of many orders, but for a driver who carries more: as
 * many as eight drivers with four each. A route of 4 takes 0.1 ms to plan, one of 20 some 10 ms.
 */
const MAX_TURN_PARCELS = 32;

/** The route of the driver of the order `o`, as {@link placeOnRoute} reads it; null where none is under way. */
export const onRoute = (sql: Sql): Fragment => sql`
  case when o.status in ('driver_assigned', 'picked_up') then (
    select json_build_object('at_ms', extract(epoch from now()) * 1000, 'vehicle', v.vehicle, 'lat', p.lat,
      'lng', p.lng,
      'age_ms', extract(epoch from now() - p.captured_at) * 1000, 'orders', (
        select json_agg(json_build_object('order_id', o.id, 'retailer_id', o.retailer_id, 'status', o.status,
          'driver_slot', o.driver_slot, 'pickup_lat', o.pickup_lat, 'pickup_lng', o.pickup_lng, 'door_lat', a.lat,
          'door_lng', a.lng, 'door_accuracy', a.accuracy_meters,
          'ready_at', coalesce(o.ready_at, o.created_at), 'deliver_after', o.deliver_after,
          'deliver_by', ${promisedBy(sql, sql`o`)}) order by o.assigned_at, o.id)
        from orders o left join dropoff_addresses a on a.id = o.dropoff_address_id
        where o.driver_id = v.id and o.status in ${active(sql)}))
    from drivers v left join driver_positions p on p.driver_id = v.id where v.id = o.driver_id) end`;

/** What {@link onRoute} reads. */
export type RouteJson = {
  readonly at_ms: number;
  readonly vehicle: Vehicle;
  readonly lat: number | null;
  readonly lng: number | null;
  /** How old the driver's position is; null where none is known. */
  readonly age_ms: number | null;
  readonly orders: readonly CarriedJson[];
};

type CarriedJson = {
  readonly order_id: string;
  readonly status: string;
  readonly door_lat: number | null;
  readonly door_lng: number | null;
  readonly door_accuracy: number | null;
  readonly ready_at: string;
  readonly deliver_after: string | null;
  readonly deliver_by: string;
} & Record<string, unknown>;

/** The place of an order on its driver's route; null where no driver is under way with it. */
export function placeOnRoute(orderId: string, route: RouteJson | null): PlaceOnRoute | null {
  return route && placeAmong(orderId, shownOf(route), route);
}

/**
 * The same for many orders that one statement read, by order: the route of a driver is planned once. Everything else
 * has its turn between the routes. They are those that the drivers are told, so that no page shows a driver who goes
 * to another door first.
 */
export async function placesOnRoutes(rows: readonly Row[]): Promise<ReadonlyMap<string, PlaceOnRoute | null>> {
  const routes = new Map<string, ShownRoute>();
  const places = new Map<string, PlaceOnRoute | null>();
  let parcels = 0;
  for (const { id, driver_id: driverId, on_route } of rows) {
    const route: RouteJson | null = on_route;
    if (!route) continue;
    let shown = routes.get(driverId);
    if (!shown) {
      parcels += route.orders.length;
      if (parcels > MAX_TURN_PARCELS) {
        await nextTurn();
        parcels = route.orders.length;
      }
      shown = shownOf(route);
      routes.set(driverId, shown);
    }
    places.set(id, placeAmong(id, shown, route));
  }
  return places;
}

function shownOf(route: RouteJson): ShownRoute {
  const { at_ms: atMs, vehicle, lat, lng } = route;
  const carried = route.orders.map((row) =>
    toCarried({
      ...row,
      ready_at: new Date(row.ready_at),
      deliver_by: new Date(row.deliver_by),
      deliver_after: row.deliver_after === null ? null : new Date(row.deliver_after),
    }),
  );
  const from = lat === null || lng === null ? null : { lat, lng };
  return shownRoute({ from, atMs, vehicle }, carried);
}

function placeAmong(orderId: string, { stops, atMs }: ShownRoute, route: RouteJson): PlaceOnRoute | null {
  const index = stops.findIndex(({ kind, orderIds }) => kind === 'dropoff' && orderIds.includes(orderId));
  const door = stops[index];
  if (!door) return null;
  const before = stops.slice(0, index);
  const fetch = before.find(({ orderIds }) => orderIds.includes(orderId));
  const together = route.orders.filter(({ order_id: id }) => fetch?.orderIds.includes(id));
  const isFresh = route.age_ms !== null && route.age_ms <= POSITION_FRESH_MS;
  const own = route.orders.find(({ order_id: id }) => id === orderId);
  const others = route.orders.filter(({ order_id: id, status }) => id !== orderId && status !== 'driver_assigned');
  return {
    stopsBefore: before.filter(({ kind }) => kind !== 'pickup').length,
    isNext: before.every((stop) => stop === fetch),
    readyAtMs: fetch && Math.max(...together.map(({ ready_at: readyAt }) => Date.parse(readyAt))),
    deliverAfterMs: own?.deliver_after ? Date.parse(own.deliver_after) : undefined,
    doorInMinutes: isFresh ? (door.arriveMs - atMs) / 60_000 : null,
    door: own ? (doorOf(own)[0] ?? null) : null,
    otherDoors: others.flatMap(doorOf),
  };
}

/** The door of an order, where it is known. */
function doorOf({ door_lat: lat, door_lng: lng, door_accuracy: accuracyMeters }: CarriedJson) {
  return lat === null || lng === null ? [] : [{ lat, lng, accuracyMeters: accuracyMeters ?? 0 }];
}
