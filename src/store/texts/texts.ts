import type { OptionalText } from '../../domain/customer-text.ts';
import type { Db } from '../db.ts';
import { type OwedText, ofAnyKind } from './messages.ts';
import { countTexts, hasOptedOut, sentTo, type TextBounds } from './text-rows.ts';

/**
 * Opens optional texts before they are sent, as `openTexts` opens the one with the tracking link. By the id of
 * their job; one whose result is recorded is missing.
 */
export async function openOptionalTexts(
  { sql }: Db,
  outboxIds: readonly number[],
  bounds: TextBounds,
  sender: string,
): Promise<Map<string, OwedText>> {
  const rows = await sql`
    with owed as materialized (
      -- The orders' table first, as in every statement that writes it.
      select t.*, t.outbox_id as id, o.retailer_id, o.tracking_token, o.reason_code, c.phone, r.name,
        ${sentTo(sql)} as send_to,
        t.kind = 'on_the_way' and o.status <> 'picked_up' as past,
        not c.sms_opt_in or ${hasOptedOut(sql, sql`c.phone`, sender)} as opted_out
      from orders o join customers c on c.id = o.customer_id join retailers r on r.id = o.retailer_id
      join texts t on t.order_id = o.id
      where t.outbox_id = any(${[...outboxIds]}::int8[]) and t.status in ('queued', 'sending')
      order by t.outbox_id for update of t
    ), opened as (
      update texts t set status = 'sending', opened_at = now(), updated_at = now()
      from owed where t.outbox_id = owed.outbox_id and owed.status = 'queued'
    ), fresh as (
      select id, phone, retailer_id from owed where status = 'queued' and not past and not opted_out
    )${countTexts(sql, bounds)}
    select owed.*, coalesce(owed.opened_at, now()) as first_opened_at, over.bound as over_bound,
      extract(epoch from now() - coalesce(owed.counted_at, owed.opened_at, now()))::float8 as seconds_since_send
    from owed left join over on over.id = owed.id`;
  return new Map(
    rows.map((row) => [
      String(row.outbox_id),
      {
        ...ofAnyKind(row),
        kind: row.kind,
        orderId: row.order_id,
        earlierSends: row.sends,
        isCounted: false,
        firstSentAt: row.first_opened_at,
        orderEnded: false,
        isPast: row.past,
        reason: row.kind === 'not_delivered' ? row.reason_code : null,
      },
    ]),
  );
}

/** Sets the optional texts of a store's customers, for what happens from then on; false for an unknown store. */
export async function setTextKinds({ sql }: Db, retailerId: string, kinds: readonly OptionalText[]): Promise<boolean> {
  const rows = await sql`
    update retailers set text_kinds = ${[...kinds]}::text[], updated_at = now() where id = ${retailerId} returning id`;
  return rows.length === 1;
}
