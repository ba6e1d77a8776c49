import type { Fragment, Sql } from 'postgres';
import type { Doubt, Receipt } from '../../domain/payout.ts';

/**
 * The CTE that writes the payout of an ended order: `, payout as (…)`; reads `changed`. It is held where the
 * order is not paid, and for the doubts about this action and the order's earlier ones.
 */
export const insertPayout = (sql: Sql, doubts: readonly Doubt[]): Fragment => sql`
  , payout as (
    insert into payouts (order_id, driver_id, amount_cents, status, reasons)
    select id, driver_id, driver_payout_cents, case when cardinality(reasons) = 0 then 'owed' else 'held' end, reasons
    from changed cross join lateral (select array(
      select 'unpaid' where changed.payment_status <> 'paid'
      union select unnest(${[...doubts]}::text[])
      union select jsonb_array_elements_text(e.receipt->'doubts') from order_events e where e.order_id = changed.id
      order by 1) as reasons) held
    on conflict do nothing
  )`;

/** The receipt in the form of the event's column. */
export const receiptData = ({ distanceMeters, positionAt, stampIsPlausible, doubts, pickedUpAt }: Receipt) => ({
  distance_meters: distanceMeters,
  position_at: positionAt?.toISOString() ?? null,
  ...(stampIsPlausible ? {} : { captured_at_implausible: true }),
  ...(doubts.length > 0 ? { doubts } : {}),
  ...(pickedUpAt ? { picked_up_at: { lat: pickedUpAt.lat, lng: pickedUpAt.lng } } : {}),
});
