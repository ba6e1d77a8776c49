import type { DropoffPoint } from '../../domain/dropoff.ts';
import type { DropoffAddress, DropoffNotes } from '../../domain/order.ts';
import type { Db } from '../db.ts';
import { isOwedTo, rowsOf } from '../fragments.ts';
import { type ChangedOrder, changeOrder } from './changes.ts';

/** Most changes of the notes for one dropoff, an event each. Above DROPOFF_CHANGES_PER_MINUTE. */
export const MAX_DROPOFF_CHANGES = 20;

/** A dropoff address without a geocoder's point, and the store and age of its order. */
export type UnlocatedDropoff = {
  readonly address: DropoffAddress;
  readonly retailerId: string;
  readonly ageSeconds: number;
};

/** The dropoffs of orders before their handover that no geocoder has located, by order. */
export async function readUnlocated({ sql }: Db, orderIds: readonly string[]): Promise<Map<string, UnlocatedDropoff>> {
  const rows = await sql`
    select o.id, o.retailer_id, a.line1, a.line2, a.city, a.state, a.zip,
      extract(epoch from now() - o.created_at)::float8 as age
    from orders o join dropoff_addresses a on a.id = o.dropoff_address_id
    where o.id = any(${[...orderIds]}::uuid[]) and o.status in ('pending_dispatch', 'driver_assigned', 'picked_up')
      and a.point_source is distinct from 'geocoder'`;
  return new Map(
    rows.map(({ id, retailer_id, line1, line2, city, state, zip, age }) => [
      id,
      { address: { line1, line2, city, state, zip }, retailerId: retailer_id, ageSeconds: age },
    ]),
  );
}

/** A dropoff's point, or null where it is unknown, and the job that looked it up. */
export type LocatedDropoff = {
  readonly orderId: string;
  readonly dropoff: DropoffPoint | null;
  readonly outboxId: number;
};

const LOCATED = rowsOf<LocatedDropoff>([
  ['order_id', 'uuid', ({ orderId }) => orderId],
  ['lat', 'float8', ({ dropoff }) => dropoff?.point.lat ?? null],
  ['lng', 'float8', ({ dropoff }) => dropoff?.point.lng ?? null],
  ['accuracy', 'int4', ({ dropoff }) => dropoff?.accuracyMeters ?? null],
  ['source', 'text', ({ dropoff }) => dropoff?.source ?? 'unknown'],
  ['outbox_id', 'int8', ({ outboxId }) => outboxId],
]);

/**
 * Records dropoffs' points, ends their jobs, and sends one notice to open pages and one of the doors that are
 * elsewhere than was known, by which every process plans from then on. Returns the orders.
 */
export async function recordDropoffs(
  { sql, processId }: Db,
  located: readonly LocatedDropoff[],
): Promise<Map<string, true>> {
  const rows = await sql`
    with input as materialized (${LOCATED(sql, located)} order by outbox_id
    ), located as (
      update dropoff_addresses a set lat = i.lat, lng = i.lng, accuracy_meters = i.accuracy, point_source = i.source
      from input i join orders o on o.id = i.order_id join dropoff_addresses b on b.id = o.dropoff_address_id
      where a.id = b.id
      returning o.id, o.status in ('pending_dispatch', 'driver_assigned', 'picked_up')
        and (b.lat is distinct from i.lat or b.lng is distinct from i.lng) as has_moved
    ), finished as (
      update outbox b set done_at = now() from input i
      where b.id = i.outbox_id and ${isOwedTo(sql, sql`b`, sql`i.order_id`, 'locate')}
    ), notice as (
      select pg_notify('sameday', ${processId} || ':details:' || string_agg(id::text, ',')) from located
      having count(*) > 0
    ), doors as (
      select pg_notify('sameday', ${processId} || ':door:' || string_agg(id::text, ',')) from located where has_moved
      having count(*) > 0
    )
    select id from located where (select count(*) from notice) + (select count(*) from doors) >= 0`;
  return new Map(rows.map(({ id }) => [id, true]));
}

/**
 * Replaces the notes for an order's dropoff until its pickup, at most MAX_DROPOFF_CHANGES times; null where it
 * is past that. The event holds none of them, since they may hold the code of a door.
 */
export async function changeDropoffNotes(
  db: Db,
  orderId: string,
  { instructions, leaveAtDoor }: DropoffNotes,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const update = sql`
    update orders o set dropoff_instructions = ${instructions}, leave_at_door = ${leaveAtDoor}, sequence = sequence + 1
    where o.id = ${orderId} and o.status in ('pending_dispatch', 'driver_assigned')
      and dropoff_changes_of(o.id) < ${MAX_DROPOFF_CHANGES}`;
  // With the notice of an order and not of its details, at which other processes tell the driver nothing.
  return changeOrder(db, update, { type: 'dropoff_changed' });
}
