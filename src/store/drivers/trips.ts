import { areNeighbours } from '../../domain/address.ts';
import type { Trip } from '../../domain/payout.ts';
import type { Point } from '../../geo/point.ts';
import { GEOCODER_ACCURACY_METERS, ZIP_ACCURACY_METERS } from '../../limits.ts';
import type { Db } from '../db.ts';

/** What a driver had to do for an order, and their last written position. */
export type TripRow = { readonly trip: Trip; readonly position: (Point & { readonly atMs: number }) | null };

/** What the points of a pickup may be off in meters, by their source. */
const PICKUP_ACCURACY_METERS: Readonly<Record<string, number>> = {
  registered: 0,
  geocoder: GEOCODER_ACCURACY_METERS,
};

/**
 * The trip of an order, and the position of a driver; null for an unknown order. It begins when the driver got the
 * order, also where another one has it since.
 */
export async function findTrip({ sql }: Db, orderId: string, driverId: string): Promise<TripRow | null> {
  const [row] = await sql`
    select case when o.driver_id = ${driverId} then o.assigned_at else given.at end as assigned_at, given.approach,
      o.pickup_address, a.line1, a.zip, o.pickup_lat, o.pickup_lng, o.pickup_point_source,
      a.lat, a.lng, a.accuracy_meters, p.lat as driver_lat, p.lng as driver_lng, p.captured_at,
      (select e.receipt->'picked_up_at' from order_events e
       where e.order_id = o.id and e.type = 'picked_up' order by e.sequence desc limit 1) as picked_up_at
    from orders o
    left join dropoff_addresses a on a.id = o.dropoff_address_id
    left join driver_positions p on p.driver_id = ${driverId}
    left join lateral (
      select e.at, (e.data->>'distance_meters')::float8 as approach from order_events e
      where e.order_id = o.id and e.type = 'driver_assigned' and e.data->>'driver_id' = ${driverId}
      order by e.sequence desc limit 1
    ) given on true
    where o.id = ${orderId} and o.status <> 'void'`;
  if (!row) return null;
  const { lat, lng } = row;
  return {
    trip: {
      assignedAtMs: row.assigned_at?.getTime() ?? null,
      approachMeters: row.approach ?? 0,
      pickup: {
        point: { lat: row.pickup_lat, lng: row.pickup_lng },
        accuracyMeters: PICKUP_ACCURACY_METERS[row.pickup_point_source] ?? ZIP_ACCURACY_METERS,
      },
      dropoff: lat === null ? null : { point: { lat, lng }, accuracyMeters: row.accuracy_meters },
      pickedUpAt: row.picked_up_at,
      areNeighbours: row.line1 !== null && areNeighbours(row.pickup_address, { line1: row.line1, zip: row.zip }),
    },
    position: row.captured_at && { lat: row.driver_lat, lng: row.driver_lng, atMs: row.captured_at.getTime() },
  };
}
