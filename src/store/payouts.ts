import type { PayoutStatus } from '../domain/payout.ts';
import type { Db } from './db.ts';

/** Which payouts are listed; null for any. */
export type PayoutFilter = {
  readonly status: PayoutStatus;
  readonly driverId: string | null;
  readonly retailerId: string | null;
  /** The list goes on after this order. */
  readonly after: string | null;
};

/** Payouts with their orders, oldest order first, and the number of those beyond `limit`. */
export async function listPayouts(
  { sql }: Db,
  { status, driverId, retailerId, after }: PayoutFilter,
  limit: number,
): Promise<{ readonly payouts: readonly { readonly order_id: string }[]; readonly more: number }> {
  const [row] = await sql`
    with found as (
      select p.*, r.name as store, o.status as order_status, o.reason_code, o.payment_status
      from payouts p join orders o on o.id = p.order_id join retailers r on r.id = o.retailer_id
      where p.status = ${status} and (${driverId}::uuid is null or p.driver_id = ${driverId})
        and (${retailerId}::uuid is null or o.retailer_id = ${retailerId})
        and (${after}::uuid is null or p.order_id > ${after})
    ), listed as (
      select * from found order by order_id limit ${limit}
    )
    select (select count(*) from found)::int as found,
      (select coalesce(json_agg(json_build_object('order_id', l.order_id, 'driver_id', l.driver_id, 'driver', d.name,
        'store', l.store, 'status', l.status, 'reasons', l.reasons, 'amount_cents', l.amount_cents,
        'order_status', l.order_status, 'reason_code', l.reason_code, 'payment_status', l.payment_status,
        'created_at', l.created_at, 'decided_at', l.decided_at, 'paid_at', l.paid_at, 'note', l.note)
        order by l.order_id), '[]')
       from listed l left join drivers d on d.id = l.driver_id) as payouts`;
  const payouts = (row?.payouts ?? []) as { readonly order_id: string }[];
  return { payouts, more: (row?.found ?? 0) - payouts.length };
}

/**
 * Settles a payout for the operator: `release` (held → owed), `void` (held or owed → void), `pay` (owed →
 * paid). Repeating it changes nothing.
 *
 * @param note kept on record; null keeps the note that it has
 * @returns its status and amount; null for an order without a payout; `settled` says whether it is as asked
 */
export async function settlePayout(
  { sql }: Db,
  orderId: string,
  to: Exclude<PayoutStatus, 'held'>,
  note: string | null,
): Promise<{ readonly settled: boolean; readonly status: PayoutStatus; readonly amountCents: number } | null> {
  const from: Record<typeof to, PayoutStatus[]> = { owed: ['held'], paid: ['owed'], void: ['held', 'owed'] };
  const [row] = await sql`
    with before as (
      select order_id, status, amount_cents from payouts where order_id = ${orderId} for update
    ), settled as (
      update payouts p set status = ${to}, note = coalesce(${note}, note),
        decided_at = case when ${to} = 'paid' then p.decided_at else now() end,
        paid_at = case when ${to} = 'paid' then now() end
      from before b where p.order_id = b.order_id and b.status = any(${from[to]}::text[])
      returning p.status
    )
    select coalesce(settled.status, b.status) as status, b.amount_cents from before b left join settled on true`;
  return row ? { settled: row.status === to, status: row.status, amountCents: row.amount_cents } : null;
}
