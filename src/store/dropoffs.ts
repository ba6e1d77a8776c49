import type { DropoffPoint } from '../domain/dropoff.ts';
import type { DropoffAddress } from '../domain/order.ts';
import type { Db } from './db.ts';

/** A dropoff address without a geocoder's point, and the age of its order. */
export type UnlocatedDropoff = { readonly address: DropoffAddress; readonly ageSeconds: number };

/** The dropoff of an order before its handover, if no geocoder has located it; null if there is none. */
export async function readUnlocated({ sql }: Db, orderId: string): Promise<UnlocatedDropoff | null> {
  const [row] = await sql`
    select a.line1, a.line2, a.city, a.state, a.zip, extract(epoch from now() - o.created_at)::float8 as age
    from orders o join dropoff_addresses a on a.id = o.dropoff_address_id
    where o.id = ${orderId} and o.status in ('pending_dispatch', 'driver_assigned', 'picked_up')
      and a.point_source is distinct from 'geocoder'`;
  if (!row) return null;
  const { line1, line2, city, state, zip, age } = row;
  return { address: { line1, line2, city, state, zip }, ageSeconds: age };
}

/** Records a dropoff's point, or that it is unknown, ends the job, and sends a notice. */
export async function recordDropoff(
  { sql, processId }: Db,
  orderId: string,
  dropoff: DropoffPoint | null,
  outboxId: number,
): Promise<void> {
  await sql`
    with located as (
      update dropoff_addresses a set lat = ${dropoff?.point.lat ?? null}::float8,
        lng = ${dropoff?.point.lng ?? null}::float8, accuracy_meters = ${dropoff?.accuracyMeters ?? null}::int4,
        point_source = ${dropoff?.source ?? 'unknown'}
      from orders o where o.id = ${orderId} and a.id = o.dropoff_address_id
      returning o.id
    ), finished as (
      update outbox set done_at = now() where id = ${outboxId} and done_at is null
    )
    select pg_notify('sameday', ${processId} || ':details:' || id) from located`;
}

/** The point of an order's dropoff; null if it is unknown. */
export async function findDropoffPoint({ sql }: Db, orderId: string): Promise<DropoffPoint | null> {
  const [row] = await sql`
    select a.lat, a.lng, a.accuracy_meters, a.point_source
    from orders o join dropoff_addresses a on a.id = o.dropoff_address_id
    where o.id = ${orderId} and a.lat is not null`;
  if (!row) return null;
  return { point: { lat: row.lat, lng: row.lng }, accuracyMeters: row.accuracy_meters, source: row.point_source };
}
