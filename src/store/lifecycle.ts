import type { Fragment, Sql } from 'postgres';
import type { CancelReason, OrderStatus, ReleaseReason, UndeliverableReason } from '../domain/order.ts';
import { RELEASED_ORDER_WAIT_SECONDS } from '../limits.ts';
import { type ChangedOrder, changeOrder, type OrderEvent, refundOwed } from './changes.ts';
import type { Db } from './db.ts';

/** What a driver's phone says of an action: its own id for it, and when it happened by its own clock. */
export type ActionStamp = { readonly actionId: string | null; readonly capturedAt: Date | null };

/** An action of the driver who carries the order: the change, and the action by its id, in one statement. */
function act(
  db: Db,
  driverId: string,
  update: Fragment,
  event: OrderEvent,
  stamp: ActionStamp,
  jobs?: Fragment,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const after = sql`, action as (
    insert into driver_actions (driver_id, action_id, order_id, type, status, sequence, captured_at)
    select ${driverId}::uuid, ${stamp.actionId}::text, id, ${event.type}, status, sequence,
      ${stamp.capturedAt}::timestamptz
    from changed where ${stamp.actionId}::text is not null
    on conflict do nothing
  )`;
  const captured = stamp.capturedAt ? { captured_at: stamp.capturedAt.toISOString() } : {};
  const data = { ...event.data, ...captured };
  const told = Object.keys(data).length > 0 ? { type: event.type, data } : { type: event.type };
  return changeOrder(db, update, told, { after, ...(jobs ? { jobs } : {}) });
}

/** The driver took the parcel. Null when it is another driver's order or not `driver_assigned`. */
export function pickUpOrder(
  db: Db,
  orderId: string,
  driverId: string,
  stamp: ActionStamp,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const update = sql`
    update orders set status = 'picked_up', picked_up_at = now(), sequence = sequence + 1
    where id = ${orderId} and driver_id = ${driverId} and status = 'driver_assigned'`;
  return act(db, driverId, update, { type: 'picked_up' }, stamp);
}

/** How far the driver was from the dropoff, in whole meters, and when that position was taken. */
export type HandoverProof = { readonly distanceMeters: number; readonly positionAt: Date };

/** The driver handed the parcel over. Null when it is another driver's order or not `picked_up`. */
export function deliverOrder(
  db: Db,
  orderId: string,
  driverId: string,
  photoName: string,
  stamp: ActionStamp,
  proof: HandoverProof | null = null,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const update = sql`
    update orders set status = 'delivered', delivered_at = now(), photo_name = ${photoName}, payout_status = 'owed',
      proof_distance_meters = ${proof?.distanceMeters ?? null}::int4, sequence = sequence + 1
    where id = ${orderId} and driver_id = ${driverId} and status = 'picked_up'`;
  const event = proof
    ? {
        type: 'delivered',
        data: { proof_distance_meters: proof.distanceMeters, position_at: proof.positionAt.toISOString() },
      }
    : { type: 'delivered' };
  return act(db, driverId, update, event, stamp);
}

/** The order waits again, for `RELEASED_ORDER_WAIT_SECONDS` at least. A driver who gave it back is not offered it again. */
const releasing = (sql: Sql, orderId: string, driverId: string, byDriver: boolean) => sql`
  update orders set status = 'pending_dispatch', driver_id = null, assigned_at = null, sequence = sequence + 1,
    excluded_driver_ids = case when ${byDriver} then excluded_driver_ids || driver_id else excluded_driver_ids end,
    expires_at = greatest(expires_at, now() + make_interval(secs => ${RELEASED_ORDER_WAIT_SECONDS}))
  where id = ${orderId} and driver_id = ${driverId} and status = 'driver_assigned'`;
const expiryOwed = (sql: Sql) => sql`select 'redispatch' as queue, expires_at as run_at from changed`;

/** The driver gave the order back before pickup. Null when it is another driver's order or not `driver_assigned`. */
export function releaseOrder(
  db: Db,
  orderId: string,
  driverId: string,
  reason: ReleaseReason,
  stamp: ActionStamp,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const event = { type: 'released', data: { driver_id: driverId, reason } };
  return act(db, driverId, releasing(sql, orderId, driverId, true), event, stamp, expiryOwed(sql));
}

/**
 * The system takes the order from a driver who is silent before pickup. A driver who is heard of again while it waits may
 * get it again. Null when it was picked up meanwhile.
 */
export function releaseFromSilent(
  db: Db,
  orderId: string,
  driverId: string,
  silentMs: number,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const update = sql`${releasing(sql, orderId, driverId, false)} and not exists (
    select from driver_positions p where p.driver_id = ${driverId}
    and p.received_at > now() - make_interval(secs => ${silentMs / 1000}))`;
  const event = { type: 'released', data: { driver_id: driverId, reason: 'driver_silent' } };
  return changeOrder(db, update, event, { jobs: expiryOwed(sql) });
}

/** Orders not picked up whose driver was not heard of for so long, at most `limit`. */
export async function findSilent(
  { sql }: Db,
  silentMs: number,
  limit: number,
): Promise<{ readonly orderId: string; readonly driverId: string }[]> {
  const rows = await sql`
    select o.id, o.driver_id from orders o left join driver_positions p on p.driver_id = o.driver_id
    where o.status = 'driver_assigned'
      and greatest(o.assigned_at, p.received_at) < now() - make_interval(secs => ${silentMs / 1000})
    limit ${limit}`;
  return rows.map((row) => ({ orderId: row.id, driverId: row.driver_id }));
}

/** The handover failed; the driver keeps the parcel until it is returned. Null when it is another driver's or not `picked_up`. */
export function markUndeliverable(
  db: Db,
  orderId: string,
  driverId: string,
  reason: UndeliverableReason,
  stamp: ActionStamp,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const update = sql`
    update orders set status = 'undeliverable', undeliverable_at = now(), reason_code = ${reason},
      sequence = sequence + 1
    where id = ${orderId} and driver_id = ${driverId} and status = 'picked_up'`;
  return act(db, driverId, update, { type: 'undeliverable', data: { reason } }, stamp);
}

/** The operator ends an order that is not going to be handed over, its driver being free; no payout. Null when not `undeliverable`. */
export function returnForDriver(db: Db, orderId: string): Promise<ChangedOrder | null> {
  const { sql } = db;
  const update = sql`
    update orders set status = 'returned', ended_at = now(), sequence = sequence + 1
    where id = ${orderId} and status = 'undeliverable'`;
  return changeOrder(db, update, { type: 'returned', data: { by: 'operator' } });
}

/** The operator says that a parcel which is on its way will not be handed over. Null when it is not `picked_up`. */
export function giveUpForDriver(db: Db, orderId: string): Promise<ChangedOrder | null> {
  const { sql } = db;
  const update = sql`
    update orders set status = 'undeliverable', undeliverable_at = now(), reason_code = 'other', sequence = sequence + 1
    where id = ${orderId} and status = 'picked_up'`;
  return changeOrder(db, update, { type: 'undeliverable', data: { by: 'operator', reason: 'other' } });
}

/** The parcel is back at the store. Null when it is another driver's order or not `undeliverable`. */
export function returnOrder(
  db: Db,
  orderId: string,
  driverId: string,
  stamp: ActionStamp,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const update = sql`
    update orders set status = 'returned', ended_at = now(), payout_status = 'owed', sequence = sequence + 1
    where id = ${orderId} and driver_id = ${driverId} and status = 'undeliverable'`;
  return act(db, driverId, update, { type: 'returned' }, stamp);
}

/**
 * An order called off before pickup, by its store or the operator. Null when it is not theirs or past that, or when the
 * store cancelled an order under the same key before.
 */
export async function cancelOrder(
  db: Db,
  orderId: string,
  by: { readonly retailerId: string; readonly idempotencyKey?: string | null } | 'operator',
  reason: CancelReason,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const who = by === 'operator' ? 'operator' : 'store';
  const key = by === 'operator' ? null : (by.idempotencyKey ?? null);
  const update = sql`
    update orders set status = 'cancelled', cancelled_by = ${who}, reason_code = ${reason}, cancel_key = ${key},
      ended_at = now(), sequence = sequence + 1
    where id = ${orderId} and status in ('pending_dispatch', 'driver_assigned')
      ${by === 'operator' ? sql`` : sql`and retailer_id = ${by.retailerId}`}`;
  const event = { type: 'cancelled', data: { by: who, reason } };
  try {
    return await changeOrder(db, update, event, { jobs: refundOwed(sql) });
  } catch (error) {
    if ((error as { constraint_name?: unknown }).constraint_name === 'orders_cancel_key') return null;
    throw error;
  }
}

/** The order that a store cancelled under an idempotency key, and why; null where there is none. */
export async function findCancelledBy(
  { sql }: Db,
  retailerId: string,
  idempotencyKey: string,
): Promise<{ readonly orderId: string; readonly reason: CancelReason } | null> {
  const [row] = await sql`
    select id, reason_code from orders where retailer_id = ${retailerId} and cancel_key = ${idempotencyKey}`;
  return row ? { orderId: row.id, reason: row.reason_code } : null;
}

/** The answer that an action got when it was first sent; null when it is new. */
export async function findAction(
  { sql }: Db,
  driverId: string,
  actionId: string,
): Promise<{ readonly orderId: string; readonly status: OrderStatus; readonly sequence: number } | null> {
  const [row] = await sql`
    select order_id, status, sequence from driver_actions where driver_id = ${driverId} and action_id = ${actionId}`;
  return row ? { orderId: row.order_id, status: row.status, sequence: row.sequence } : null;
}
