import type { Receipt } from '../../domain/payout.ts';
import type { Db } from '../db.ts';
import { active } from '../fragments.ts';
import { type ChangedOrder, changeOrder } from '../orders/changes.ts';
import type { ActionStamp } from '../orders/lifecycle.ts';
import { receiptData } from '../payments/payout-rows.ts';
import { insertText, type TextOwed, textJob } from '../texts/text-rows.ts';

/**
 * Seconds by which a phone's clock may be behind where it says that a parcel was fetched after the order was given:
 * above what a phone that sets its clock by the network is ever off, and below what a driver needs for the way.
 */
export const LATE_PICKUP_LAG_SECONDS = 60;

/**
 * Records the pickup of a former driver, who fetched the parcel while nobody heard of them, in place of the
 * driver of now, who has not fetched it. The order is theirs again, as long as they have room.
 *
 * Null if another one has fetched it or it has ended, if the driver gave it back or never had it, or if the
 * phone does not say that the pickup was after the assignment, by a clock that may be LATE_PICKUP_LAG_SECONDS behind.
 */
export async function pickUpLate(
  db: Db,
  orderId: string,
  driverId: string,
  { actionId, capturedAt }: ActionStamp,
  receipt: Receipt | null = null,
  textDelaySeconds = 0,
): Promise<ChangedOrder | null> {
  if (!capturedAt) return null;
  const { sql } = db;
  const before = sql`
    former as materialized (
      select a.at as assigned_at, d.id as driver_id, (
        select min(slot) from generate_series(0, d.capacity - 1) slot where not exists (
          select from orders c
          where c.driver_id = d.id and c.driver_slot = slot and c.status in ${active(sql)})) as slot
      from drivers d
      cross join lateral (
        select e.sequence, e.at from order_events e
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
    update orders set status = 'picked_up', driver_id = ${driverId}, driver_slot = (select slot from former),
      assigned_at = (select assigned_at from former), picked_up_at = now(), sequence = sequence + 1
    where id = ${orderId} and status in ('pending_dispatch', 'driver_assigned')
      and driver_id is distinct from ${driverId} and (select slot from former) is not null`;
  const text: TextOwed = { kind: 'on_the_way', delaySeconds: textDelaySeconds };
  const after = sql`, action as (
    insert into driver_actions (driver_id, action_id, order_id, type, status, sequence, captured_at)
    select ${driverId}::uuid, ${actionId}::text, id, 'picked_up', status, sequence, ${capturedAt}::timestamptz
    from changed where ${actionId}::text is not null on conflict do nothing
  )${insertText(sql, text)}`;
  const data = { driver_id: driverId, captured_at: capturedAt.toISOString() };
  const event = { type: 'picked_up', data, ...(receipt ? { receipt: receiptData(receipt) } : {}) };
  const pickUp = () =>
    changeOrder(db, update, event, { before, jobs: textJob(sql, text), after }).catch((error: { code?: string }) => {
      if (error.code === '23505') return 'slot_taken' as const;
      throw error;
    });
  // Their slot was given away in the same moment: they may have another one.
  const first = await pickUp();
  const last = first === 'slot_taken' ? await pickUp() : first;
  return last === 'slot_taken' ? null : last;
}
