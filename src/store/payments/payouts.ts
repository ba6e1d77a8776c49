import type { PayoutStatus } from '../../domain/payout.ts';
import { MAX_PAYOUT_NOTES_LENGTH } from '../../limits.ts';
import type { Db } from '../db.ts';

/** What parts the notes of one payout. No line feed, which the command line shows by its number. */
const BETWEEN_NOTES = '; ';

/**
 * Settles a payout for the operator: `release` (held → owed), `void` (held or owed → void), `pay` (owed →
 * paid). Repeating it changes nothing.
 *
 * @param note kept on record behind those that it has, unless it is one of them
 * @returns its status and amount; null for an order without a payout; `settled` says whether it is as asked
 */
export async function settlePayout(
  { sql }: Db,
  orderId: string,
  to: Exclude<PayoutStatus, 'held'>,
  note: string | null,
): Promise<{ readonly settled: boolean; readonly status: PayoutStatus; readonly amountCents: number } | null> {
  const isKept = sql`strpos(concat(${BETWEEN_NOTES}::text, p.note, ${BETWEEN_NOTES}::text),
    concat(${BETWEEN_NOTES}::text, ${note}::text, ${BETWEEN_NOTES}::text)) > 0`;
  const from: Record<typeof to, PayoutStatus[]> = { owed: ['held'], paid: ['owed'], void: ['held', 'owed'] };
  const [row] = await sql`
    with before as (
      select order_id, status, amount_cents from payouts where order_id = ${orderId} for update
    ), settled as (
      update payouts p set status = ${to},
        note = case when ${note}::text is null or ${isKept} then p.note
          else right(concat_ws(${BETWEEN_NOTES}, p.note, ${note}::text), ${MAX_PAYOUT_NOTES_LENGTH}) end,
        decided_at = case when ${to} in ('paid', b.status) then p.decided_at else now() end,
        paid_at = case when ${to} = 'paid' then coalesce(p.paid_at, now()) end
      from before b where p.order_id = b.order_id
        and (b.status = any(${from[to]}::text[]) or (b.status = ${to} and ${note}::text is not null))
      returning p.status
    )
    select coalesce(settled.status, b.status) as status, b.amount_cents from before b left join settled on true`;
  return row ? { settled: row.status === to, status: row.status, amountCents: row.amount_cents } : null;
}
