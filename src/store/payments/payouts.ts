import type { PayoutStatus } from '../../domain/payout.ts';
import type { Db } from '../db.ts';

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
        decided_at = case when ${to} in ('paid', b.status) then p.decided_at else now() end,
        paid_at = case when ${to} = 'paid' then coalesce(p.paid_at, now()) end
      from before b where p.order_id = b.order_id
        and (b.status = any(${from[to]}::text[]) or (b.status = ${to} and ${note}::text is not null))
      returning p.status
    )
    select coalesce(settled.status, b.status) as status, b.amount_cents from before b left join settled on true`;
  return row ? { settled: row.status === to, status: row.status, amountCents: row.amount_cents } : null;
}
