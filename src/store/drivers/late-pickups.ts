import type { Fragment, Sql } from 'postgres';
import type { ReleaseReason } from '../../domain/order.ts';
import type { Receipt } from '../../domain/payout.ts';
import type { Db } from '../db.ts';
import { active } from '../fragments.ts';
import type { ChangedOrder } from '../orders/changes.ts';
import { type ActionStamp, act } from '../orders/driver-action.ts';
import type { TextOwed } from '../texts/text-rows.ts';

/**
 * Seconds by which a phone's clock may be behind where it says that a parcel was fetched after the order was given:
 * above what a phone that sets its clock by the network is ever off, and below what a driver needs for the way.
 */
export const LATE_PICKUP_LAG_SECONDS = 60;

/** Why the driver of now loses the order: none of the reasons that stores know says more. */
const TAKEN_OVER: ReleaseReason = 'other';

/**
 * Records the pickup of a former driver, who fetched the parcel while nobody heard of them, in place of the
 * driver of now, who has not fetched it. The order is theirs again, as long as they have room.
 *
 * Null if another one has fetched it or it has ended, if the driver gave it back or never had it, or if the
 * phone does not say that the pickup was after the assignment, by a clock that may be LATE_PICKUP_LAG_SECONDS behind.
 *
 * The steps of the order that lie between are events of their own, so that nobody is told of one that is no step: the
 * driver of now loses it, and the former one has it again.
 */
export async function pickUpLate(
  db: Db,
  orderId: string,
  driverId: string,
  stamp: ActionStamp,
  receipt: Receipt | null = null,
  textDelaySeconds = 0,
): Promise<ChangedOrder | null> {
  const { capturedAt } = stamp;
  if (!capturedAt) return null;
  const { sql } = db;
  const before = sql`
    held as materialized (
      select id as held_id, driver_id as holder_id from orders
      where id = ${orderId} and status in ('pending_dispatch', 'driver_assigned') for no key update
    ), former as materialized (
      select a.at as assigned_at, a.data as assignment, d.id as former_id, (
        select min(slot) from generate_series(0, d.capacity - 1) slot where not exists (
          select from orders c
          where c.driver_id = d.id and c.driver_slot = slot and c.status in ${active(sql)})) as slot
      from drivers d
      cross join lateral (
        select e.sequence, e.at, e.data from order_events e
        where e.order_id = ${orderId} and e.type = 'driver_assigned' and e.data ->> 'driver_id' = d.id::text
        order by e.sequence desc limit 1
      ) a
      cross join lateral (
        select e.data ->> 'reason' as reason from order_events e
        where e.order_id = ${orderId} and e.type = 'released' and e.sequence > a.sequence
        order by e.sequence limit 1
      ) r
      where d.id = ${driverId} and d.active and r.reason = 'driver_silent'
        and ${capturedAt}::timestamptz >= a.at - make_interval(secs => ${LATE_PICKUP_LAG_SECONDS})
    )`;
  const update = sql`
    update orders o set status = 'picked_up', driver_id = former_id, driver_slot = former.slot,
      assigned_at = former.assigned_at, picked_up_at = now(),
      sequence = o.sequence + case when holder_id is null then 2 else 3 end
    from held, former
    where o.id = held_id and holder_id is distinct from former_id and former.slot is not null`;
  const text: TextOwed = { kind: 'on_the_way', delaySeconds: textDelaySeconds };
  const event = { type: 'picked_up', data: { driver_id: driverId } };
  const parts = { before, receipt, text, after: stepsBetween(sql) };
  const pickUp = () =>
    act(db, driverId, update, event, stamp, parts).catch((error: { code?: string }) => {
      if (error.code === '23505') return 'slot_taken' as const;
      throw error;
    });
  // Their slot was given away in the same moment: they may have another one.
  const first = await pickUp();
  const last = first === 'slot_taken' ? await pickUp() : first;
  return last === 'slot_taken' ? null : last;
}

/** CTEs that write the events between an order's place in `held` and its pickup, in that order; `, name as (…)`. */
const stepsBetween = (sql: Sql): Fragment => sql`, steps as materialized (
    select c.id, c.sequence - 2 as sequence, 'released' as type, 'order.released' as told_as, c.at, c.retailer_id,
      'pending_dispatch' as status, c.payment_status, null::uuid as driver_id,
      jsonb_build_object('driver_id', holder_id, 'reason', ${TAKEN_OVER}::text) as data,
      jsonb_build_object('reason', ${TAKEN_OVER}::text) as details
    from changed c join held on held_id = c.id where holder_id is not null
    union all
    select c.id, c.sequence - 1, 'driver_assigned', 'order.assigned', c.at, c.retailer_id,
      'driver_assigned', c.payment_status, c.driver_id, former.assignment, null
    from changed c cross join former
  ), step_events as (
    insert into order_events (told, order_id, sequence, type, at, data)
    select true, id, sequence, type, at, data from steps
  ), told as (
    insert into unnumbered_events (order_id, sequence, type, retailer_id, at, status, payment_status, driver_id,
      details)
    select id, sequence, told_as, retailer_id, at, status, payment_status, driver_id, details
    from steps order by sequence
  )`;
