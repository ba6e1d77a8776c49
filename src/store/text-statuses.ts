import type { Fragment, Sql } from 'postgres';
import type { TextKind } from '../domain/customer-text.ts';
import { changeOrders } from './changes.ts';
import type { Db } from './db.ts';
import { textEventData } from './text-rows.ts';

/** What a provider says became of a text that it took. */
export type TextReport = {
  readonly orderId: string;
  readonly kind: TextKind;
  /** The provider's id of the message. */
  readonly sid: string;
  readonly status: 'sent' | 'delivered' | 'undelivered';
  /** The provider's code, where it was not delivered. */
  readonly failureCode: string | null;
};

/**
 * Records what became of a text, with its event and notice, in one statement. A status only ever goes on:
 * from a send of unknown outcome to `sent`, and from both to `delivered` or `undelivered`. A report that says
 * nothing new, comes late, or is of another message than the one on record changes nothing.
 *
 * A text is on record before it is sent, so a report that is faster than the answer to the send finds it, and
 * is its result.
 *
 * @returns whether anything was written
 */
export async function recordTextReport(db: Db, report: TextReport): Promise<boolean> {
  const { sql } = db;
  const { orderId, kind, status, failureCode } = report;
  const locked = sql`locked as materialized (
      select id from orders where id = ${orderId} and status <> 'void' for no key update
    )`;
  const message = kind === 'tracking' ? trackingText(sql, report) : optionalText(sql, report);
  // The columns of the tracking text are on the order.
  const set = sql`sms_status = ${status}, sms_failure_code = ${failureCode}, `;
  const update = sql`
    update orders o set ${kind === 'tracking' ? set : sql``}sequence = o.sequence + 1
    from message where o.id = message.order_id
      ${kind === 'tracking' ? sql`and ${mayBecome(sql, status, sql`o.sms_status`, sql`o.sms_failure_code`)}` : sql``}`;
  const data = textEventData(sql, sql`${kind}::text`, sql`${failureCode}::text`);
  const events = sql`select id, sequence, 'sms_' || ${status}::text, ${data} from changed`;
  const changed = await changeOrders(db, sql`${locked}, ${message}`, update, events);
  return changed.size > 0;
}

/** The message was sent, and is this one as far as that is known. */
const isThisOne = (sql: Sql, sid: string): Fragment => sql`m.sends > 0 and coalesce(m.sid, ${sid}) = ${sid}`;

/** The row stays `sent` whatever the phone says: the build before knows no other status. */
const trackingText = (sql: Sql, { sid }: TextReport): Fragment => sql`message as (
    update messages m set status = 'sent', sid = ${sid}, failure_code = null
    from locked where m.order_id = locked.id and ${isThisOne(sql, sid)}
      and (m.status in ('sending', 'sent') or m.failure_code = 'outcome_unknown')
    returning m.order_id
  )`;

const optionalText = (sql: Sql, { kind, sid, status, failureCode }: TextReport): Fragment => sql`message as (
    update texts m set status = ${status}, sid = ${sid}, failure_code = ${failureCode}, updated_at = now()
    from locked where m.order_id = locked.id and m.kind = ${kind} and ${isThisOne(sql, sid)}
      and ${mayBecome(sql, status, sql`m.status`, sql`m.failure_code`)}
    returning m.order_id
  )`;

/** A text that was given up for want of an answer was sent after all. */
const mayBecome = (sql: Sql, status: TextReport['status'], from: Fragment, code: Fragment): Fragment => {
  const before = status === 'sent' ? ['queued', 'sending'] : ['queued', 'sending', 'sent'];
  return sql`(${from} = any(${before}::text[]) or (${from} = 'failed' and ${code} = 'outcome_unknown'))`;
};
