import type { Fragment, Sql } from 'postgres';
import type { CancelReason, OrderStatus, ReleaseReason, UndeliverableReason } from '../../domain/order.ts';
import type { Receipt } from '../../domain/payout.ts';
import { below } from '../../limits.ts';
import type { Db } from '../db.ts';
import { insertText, type TextOwed, textJob } from '../texts/text-rows.ts';
import { type ChangedOrder, changeAlike, changeOrder, refundJobAtEnd } from './changes.ts';
import { type ActionStamp, act } from './driver-action.ts';

/** Shortest time before a released order expires, so that it has a chance of another driver. */
const RELEASED_ORDER_WAIT_SECONDS = 3_600;
/** Time in which so many releases use up a driver's budget, and the pause after that: an hour. */
const RELEASE_PAUSE_SECONDS = 3_600;
/** Time for which a driver's releases lengthen the next pause. Above RELEASE_PAUSE_SECONDS. */
const RELEASE_COUNTED_SECONDS = 24 * 3_600;

below({ RELEASE_PAUSE_SECONDS }, { RELEASE_COUNTED_SECONDS });

/**
 * Records a pickup. Null if the order is another driver's or not `driver_assigned`.
 *
 * @param textDelaySeconds time to the text of it, where the store has its customers sent one
 */
export function pickUpOrder(
  db: Db,
  orderId: string,
  driverId: string,
  stamp: ActionStamp,
  receipt: Receipt | null = null,
  textDelaySeconds = 0,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const update = sql`
    update orders set status = 'picked_up', picked_up_at = now(), sequence = sequence + 1
    where id = ${orderId} and driver_id = ${driverId} and status = 'driver_assigned'`;
  const text: TextOwed = { kind: 'on_the_way', delaySeconds: textDelaySeconds };
  return act(db, driverId, update, { type: 'picked_up' }, stamp, { receipt, text });
}

/** Records a delivery, its payout and its text. Null if the order is another driver's or not `picked_up`. */
export function deliverOrder(
  db: Db,
  orderId: string,
  driverId: string,
  photoName: string | null,
  stamp: ActionStamp,
  receipt: Receipt | null = null,
  textDelaySeconds = 0,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const proof = receipt?.proof;
  const update = sql`
    update orders set status = 'delivered', delivered_at = now(), photo_name = ${photoName}::text,
      proof_distance_meters = ${proof?.distanceMeters ?? null}::int4, sequence = sequence + 1
    where id = ${orderId} and driver_id = ${driverId} and status = 'picked_up'`;
  const event = proof
    ? {
        type: 'delivered',
        data: { proof_distance_meters: proof.distanceMeters, position_at: proof.positionAt.toISOString() },
      }
    : { type: 'delivered' };
  const text: TextOwed = { kind: 'delivered', delaySeconds: textDelaySeconds };
  return act(db, driverId, update, event, stamp, { receipt, text, endsWithPayout: true });
}

/**
 * Makes a driver's order wait again, for at least RELEASED_ORDER_WAIT_SECONDS. It had its turn among the orders of
 * its store, so it counts as waiting since it was created.
 *
 * @param byDriver whether the driver released it; then they are not offered it again
 */
const releasing = (sql: Sql, driverId: string, byDriver: boolean) => sql`
  update orders set status = 'pending_dispatch', driver_id = null, assigned_at = null, fair_start = null,
    sequence = sequence + 1,
    excluded_driver_ids = case when ${byDriver} then excluded_driver_ids || driver_id else excluded_driver_ids end,
    expires_at = greatest(expires_at, now() + make_interval(secs => ${RELEASED_ORDER_WAIT_SECONDS}))
  where driver_id = ${driverId} and status = 'driver_assigned'`;
const expiryOwed = (sql: Sql) => sql`select 'redispatch' as queue, changed.expires_at as run_at`;

/**
 * Releases an order before its pickup. Null if the order is another driver's or not `driver_assigned`, and
 * while the driver has to wait, see {@link findReleasePause}.
 *
 * @param perHour releases within an hour after which a driver has to wait; 0 for no bound
 */
export async function releaseOrder(
  db: Db,
  orderId: string,
  driverId: string,
  reason: ReleaseReason,
  stamp: ActionStamp,
  perHour = 0,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const event = { type: 'released', data: { driver_id: driverId, reason } };
  const isWithinBudget =
    perHour === 0 ? sql`true` : sql`(select lock_release_pause(${budgetOf(sql, driverId, perHour)})) = 0`;
  const update = sql`${releasing(sql, driverId, true)} and id = ${orderId} and ${isWithinBudget}`;
  const release = (known: ActionStamp) => act(db, driverId, update, event, known, { jobs: expiryOwed(sql) });
  try {
    return await release(stamp);
  } catch (error) {
    // An id that the driver used for another action does not keep this one from being counted.
    if (isIdUsed(error)) return release({ ...stamp, actionId: null });
    throw error;
  }
}

const isIdUsed = (error: unknown): boolean =>
  (error as { constraint_name?: unknown }).constraint_name === 'driver_actions_pkey';

/** The arguments of `release_pause`. */
const budgetOf = (sql: Sql, driverId: string, perHour: number): Fragment =>
  sql`${driverId}::uuid, ${perHour}::int, ${RELEASE_PAUSE_SECONDS}::int, ${RELEASE_COUNTED_SECONDS}::int`;

/**
 * The seconds that a driver has to wait before they may release another order; 0 for none. Each order that
 * they see names a customer's street, so the orders they release are bounded. The releases themselves are
 * counted, so that every process agrees and a restart forgets none.
 *
 * The pause after `perHour` releases within an hour is an hour from the last one, and twice as long for each
 * further `perHour` of them within RELEASE_COUNTED_SECONDS.
 */
export async function findReleasePause({ sql }: Db, driverId: string, perHour: number): Promise<number> {
  if (perHour === 0) return 0;
  const [row] = await sql`select release_pause(${budgetOf(sql, driverId, perHour)}) as seconds`;
  return row?.seconds ?? 0;
}

/** The orders that a deactivated driver lost, and those that they still carry. */
export type Deactivated = { readonly released: readonly ChangedOrder[]; readonly carriedOrderIds: readonly string[] };

/**
 * Deactivates a driver for good. Orders before their pickup wait for the next driver; one after it stays
 * until the driver ends it. Null for an unknown driver.
 */
export async function deactivateDriver(db: Db, driverId: string): Promise<Deactivated | null> {
  const { sql, processId } = db;
  // The notice stands in `returning`, since a `with` query that only reads runs only where it is read.
  const before = sql`deactivated as (
    update drivers set active = false, on_duty = false where id = ${driverId}
    returning id, pg_notify('sameday', ${processId} || ':driver:' || id)
  )`;
  const event = { type: 'released', data: { driver_id: driverId, reason: 'driver_deactivated' } };
  // The driver is locked before their orders, as where they release one.
  const update = sql`${releasing(sql, driverId, false)} and (select count(*) from deactivated) >= 0`;
  const released = await changeAlike(db, update, event, { before, jobs: expiryOwed(sql) });
  const [driver] = await sql`
    select array(select o.id from orders o where o.driver_id = d.id and o.status in ('picked_up', 'undeliverable')
      order by o.id) as order_ids
    from drivers d where d.id = ${driverId}`;
  return driver ? { released, carriedOrderIds: driver.order_ids } : null;
}

/** Whether a driver was deactivated, which an assignment at the same moment does not see. */
const isDeactivated = (sql: Sql, driverId: Fragment): Fragment =>
  sql`exists (select from drivers d where d.id = ${driverId} and not d.active)`;

/**
 * Releases an order whose driver has been silent for `silentMs` before the pickup, or was deactivated. A
 * silent one may be offered it again. Null if the driver has picked it up meanwhile, reported a position, or was
 * given it anew.
 */
export function releaseFromSilent(
  db: Db,
  orderId: string,
  driverId: string,
  silentMs: number,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const update = sql`${releasing(sql, driverId, false)} and id = ${orderId}
    and (${isDeactivated(sql, sql`${driverId}`)}
      or (assigned_at <= now() - make_interval(secs => ${silentMs / 1000}) and not exists (
        select from driver_positions p where p.driver_id = ${driverId}
        and p.received_at > now() - make_interval(secs => ${silentMs / 1000}))))`;
  const event = { type: 'released', data: { driver_id: driverId, reason: 'driver_silent' } };
  return changeOrder(db, update, event, { jobs: expiryOwed(sql) });
}

/** An order before its pickup whose driver has been silent, or was deactivated (`isGone`). */
export type SilentOrder = { readonly orderId: string; readonly driverId: string; readonly isGone: boolean };

/**
 * Orders before their pickup whose driver has been silent for `silentMs`, or was deactivated, these first; at most
 * `limit`.
 */
export async function findSilent({ sql }: Db, silentMs: number, limit: number): Promise<SilentOrder[]> {
  const rows = await sql`
    select o.id, o.driver_id, ${isDeactivated(sql, sql`o.driver_id`)} as is_gone
    from orders o left join driver_positions p on p.driver_id = o.driver_id
    where o.status = 'driver_assigned'
      and (greatest(o.assigned_at, p.received_at) < now() - make_interval(secs => ${silentMs / 1000})
        or ${isDeactivated(sql, sql`o.driver_id`)})
    order by is_gone desc limit ${limit}`;
  return rows.map((row) => ({ orderId: row.id, driverId: row.driver_id, isGone: row.is_gone }));
}

/** Records a failed handover, and its text. Null if the order is another driver's or not `picked_up`. */
export function markUndeliverable(
  db: Db,
  orderId: string,
  driverId: string,
  reason: UndeliverableReason,
  stamp: ActionStamp,
  receipt: Receipt | null = null,
  textDelaySeconds = 0,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const update = sql`
    update orders set status = 'undeliverable', undeliverable_at = now(), reason_code = ${reason},
      sequence = sequence + 1
    where id = ${orderId} and driver_id = ${driverId} and status = 'picked_up'`;
  const text: TextOwed = { kind: 'not_delivered', delaySeconds: textDelaySeconds };
  return act(db, driverId, update, { type: 'undeliverable', data: { reason } }, stamp, { receipt, text });
}

/** Ends an order for the operator: its driver is free, no payout is owed. Null if not `undeliverable`. */
export function returnForDriver(db: Db, orderId: string): Promise<ChangedOrder | null> {
  const { sql } = db;
  const update = sql`
    update orders set status = 'returned', ended_at = now(), sequence = sequence + 1
    where id = ${orderId} and status = 'undeliverable'`;
  return changeOrder(db, update, { type: 'returned', data: { by: 'operator' } });
}

/** Records for the operator that a handover failed, and its text. Null if the order is not `picked_up`. */
export function giveUpForDriver(db: Db, orderId: string): Promise<ChangedOrder | null> {
  const { sql } = db;
  const update = sql`
    update orders set status = 'undeliverable', undeliverable_at = now(), reason_code = 'other', sequence = sequence + 1
    where id = ${orderId} and status = 'picked_up'`;
  const text: TextOwed = { kind: 'not_delivered', delaySeconds: 0 };
  const event = { type: 'undeliverable', data: { by: 'operator', reason: 'other' } };
  return changeOrder(db, update, event, { jobs: textJob(sql, text), after: insertText(sql, text) });
}

/**
 * Records a parcel's return to the store, and its payout. Null if the order is another driver's or not
 * `undeliverable`.
 */
export function returnOrder(
  db: Db,
  orderId: string,
  driverId: string,
  stamp: ActionStamp,
  receipt: Receipt | null = null,
): Promise<ChangedOrder | null> {
  const { sql } = db;
  const update = sql`
    update orders set status = 'returned', ended_at = now(), sequence = sequence + 1
    where id = ${orderId} and driver_id = ${driverId} and status = 'undeliverable'`;
  return act(db, driverId, update, { type: 'returned' }, stamp, { receipt, endsWithPayout: true });
}

/**
 * Cancels an order before its pickup, for its store or the operator. Null if the order is another store's, if
 * it is past its pickup or has ended, or if the store has cancelled an order with the same key before.
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
    return await changeOrder(db, update, event, { jobs: refundJobAtEnd(sql) });
  } catch (error) {
    if ((error as { constraint_name?: unknown }).constraint_name === 'orders_cancel_key') return null;
    throw error;
  }
}

/** The order that a store cancelled with an idempotency key, and the reason; null for an unused key. */
export async function findCancelledBy(
  { sql }: Db,
  retailerId: string,
  idempotencyKey: string,
): Promise<{ readonly orderId: string; readonly reason: CancelReason } | null> {
  const [row] = await sql`
    select id, reason_code from orders where retailer_id = ${retailerId} and cancel_key = ${idempotencyKey}`;
  return row ? { orderId: row.id, reason: row.reason_code } : null;
}

/** The result of an action when it was first sent; null for a new action. */
export async function findAction(
  { sql }: Db,
  driverId: string,
  actionId: string,
): Promise<{ readonly orderId: string; readonly status: OrderStatus; readonly sequence: number } | null> {
  const [row] = await sql`
    select order_id, status, sequence from driver_actions where driver_id = ${driverId} and action_id = ${actionId}`;
  return row ? { orderId: row.order_id, status: row.status, sequence: row.sequence } : null;
}
