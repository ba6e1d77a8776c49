import type { Sql } from '../../src/postgres/connect.ts';

export type At = { readonly lat: number; readonly lng: number };

/** An order that is open, as the tables have it. Times are milliseconds since 1970. */
export type OrderRow = {
  readonly id: string;
  readonly status: 'pending_dispatch' | 'driver_assigned' | 'picked_up' | 'undeliverable';
  readonly retailerId: string;
  readonly isStoreActive: boolean;
  readonly driverId: string | null;
  readonly slot: number | null;
  readonly tier: string;
  readonly size: string;
  readonly pickup: At;
  readonly door: At | null;
  readonly createdMs: number;
  readonly readyMs: number | null;
  readonly dispatchFromMs: number | null;
  readonly deliverAfterMs: number | null;
  readonly deliverByMs: number;
  readonly expiresMs: number;
  readonly payment: string;
  readonly excluded: readonly string[];
};

export type DriverRow = {
  readonly id: string;
  readonly onDuty: boolean;
  readonly untilMs: number | null;
  readonly capacity: number;
  readonly vehicle: string;
  readonly tiers: readonly string[];
};

/** What the tables say at one moment. */
export type Picture = { readonly orders: readonly OrderRow[]; readonly drivers: readonly DriverRow[] };

export type TierRow = {
  readonly id: string;
  readonly radius: number;
  readonly growth: number;
  readonly most: number;
  readonly mode: string;
};

/** Reads the open orders and the drivers. */
export async function readPicture(sql: Sql): Promise<Picture> {
  const [row] = await sql`
    select
      (select coalesce(json_agg(json_build_object('id', o.id, 'status', o.status, 'retailerId', o.retailer_id,
        'isStoreActive', r.status = 'active', 'driverId', o.driver_id, 'slot', o.driver_slot,
        'tier', o.delivery_tier, 'size', o.size,
        'pickup', json_build_object('lat', o.pickup_lat, 'lng', o.pickup_lng),
        'door', case when a.lat is not null then json_build_object('lat', a.lat, 'lng', a.lng) end,
        'createdMs', extract(epoch from o.created_at) * 1000, 'readyMs', extract(epoch from o.ready_at) * 1000,
        'dispatchFromMs', extract(epoch from o.dispatch_from) * 1000,
        'deliverAfterMs', extract(epoch from o.deliver_after) * 1000,
        'deliverByMs', extract(epoch from o.deliver_by) * 1000,
        'expiresMs', extract(epoch from o.expires_at) * 1000,
        'payment', o.payment_status, 'excluded', o.excluded_driver_ids) order by o.created_at, o.id), '[]')
       from orders o join dropoff_addresses a on a.id = o.dropoff_address_id join retailers r on r.id = o.retailer_id
       where o.status in ('pending_dispatch', 'driver_assigned', 'picked_up', 'undeliverable')) as orders,
      (select coalesce(json_agg(json_build_object('id', d.id, 'onDuty', d.on_duty and d.active,
        'untilMs', extract(epoch from d.on_duty_until) * 1000, 'capacity', d.capacity, 'vehicle', d.vehicle,
        'tiers', d.tiers) order by d.id), '[]') from drivers d) as drivers`;
  return { orders: row?.orders, drivers: row?.drivers };
}

export async function readTiers(sql: Sql): Promise<Map<string, TierRow>> {
  const rows = (await sql`
    select id, radius_meters as radius, radius_growth_meters_per_minute as growth, max_radius_meters as most,
      dispatch_mode as mode from tiers`) as unknown as TierRow[];
  return new Map(rows.map((row) => [row.id, row]));
}

/** Meters between two points on a globe of 6,371 km, by the law of haversines. */
export function metersBetween(a: At, b: At): number {
  const radians = Math.PI / 180;
  const half = (degrees: number) => Math.sin((degrees * radians) / 2) ** 2;
  const h = half(b.lat - a.lat) + Math.cos(a.lat * radians) * Math.cos(b.lat * radians) * half(b.lng - a.lng);
  return 2 * 6_371_000 * Math.asin(Math.min(1, Math.sqrt(h)));
}

const HOLDS: Readonly<Record<string, readonly string[]>> = {
  bike: ['small'],
  car: ['small', 'medium'],
  van: ['small', 'medium', 'large'],
};

/** Whether a driver serves the tier and has a vehicle for the size. */
export function isQualified(
  { tiers, vehicle }: Pick<DriverRow, 'tiers' | 'vehicle'>,
  order: { readonly tier: string; readonly size: string },
): boolean {
  return tiers.includes(order.tier) && (HOLDS[vehicle] ?? []).includes(order.size);
}
