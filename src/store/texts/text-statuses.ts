import type { Fragment, Sql } from 'postgres';
import type { TextKind } from '../../domain/customer-text.ts';
import { below, SENDER_REFUSED_PAUSE_SECONDS, TEXT_USEFUL_SECONDS } from '../../limits.ts';
import type { Db } from '../db.ts';
import { firstLease } from '../fragments.ts';
import { changeOrders } from '../orders/changes.ts';
import { OPTED_OUT_AT_TWILIO, optOutsAtTwilio, textEventData } from './text-rows.ts';

/** Twilio's codes for a sender that was too fast for its queue or its campaign. */
const SENT_TOO_FAST = ['30001', '30022'];
/** First pause after them, since a rush passes by itself. Below SENDER_REFUSED_PAUSE_SECONDS. */
const SENT_TOO_FAST_PAUSE_SECONDS = 60;
/** Longest such pause, so that a text is sent within an hour of the mend. Below TEXT_USEFUL_SECONDS. */
const MAX_SENDER_REFUSED_PAUSE_SECONDS = 3_600;

below({ SENT_TOO_FAST_PAUSE_SECONDS }, { SENDER_REFUSED_PAUSE_SECONDS });
below({ SENDER_REFUSED_PAUSE_SECONDS }, { MAX_SENDER_REFUSED_PAUSE_SECONDS });
below({ MAX_SENDER_REFUSED_PAUSE_SECONDS }, { TEXT_USEFUL_SECONDS });

/** What a provider says became of a text that it took. */
export type TextReport = {
  readonly orderId: string;
  readonly kind: TextKind;
  /** The provider's id of the message. */
  readonly sid: string;
  readonly status: 'sent' | 'delivered' | 'undelivered' | 'sender_refused';
  /** The provider's code, where it was not delivered. */
  readonly failureCode: string | null;
  /** The number that sent it; null where the provider does not say. */
  readonly sender: string | null;
};

/**
 * Records what became of a text, with its event and notice, in one statement. A status only ever goes on:
 * from a send of unknown outcome to `sent`, and from both to `delivered` or `undelivered`. A report that says
 * nothing new, comes late, or is of another message than the one on record changes nothing.
 *
 * Where the sender was refused the text is owed again, and `queued`.
 *
 * A text is on record before it is sent, so a report that is faster than the answer to the send finds it, and
 * is its result.
 *
 * @returns whether anything was written
 */
export async function recordTextReport(db: Db, report: TextReport): Promise<boolean> {
  const { sql } = db;
  const { orderId, kind, status, failureCode, sender } = report;
  const locked = sql`locked as materialized (
      select id, retailer_id, sms_status from orders where id = ${orderId} and status <> 'void' for no key update
    )`;
  if (status === 'sender_refused') return keepText(db, report, locked);
  const message = kind === 'tracking' ? trackingText(sql, report) : optionalText(sql, report);
  // The columns of the tracking text are on the order.
  const set = sql`sms_status = ${status}, sms_failure_code = ${failureCode}, `;
  const update = sql`
    update orders o set ${kind === 'tracking' ? set : sql``}sequence = o.sequence + 1
    from message where o.id = message.order_id
      ${kind === 'tracking' ? sql`and ${mayBecome(sql, status, sql`o.sms_status`, sql`o.sms_failure_code`)}` : sql``}`;
  const data = textEventData(sql, sql`${kind}::text`, sql`${failureCode}::text`);
  const events = sql`select id, sequence, 'sms_' || ${status}::text, ${data} from changed`;
  const isOptOut = failureCode === OPTED_OUT_AT_TWILIO;
  const recorded = sql`, recorded as (
      select order_id, ${status}::text as status, ${failureCode}::text as failure_code from message
    )${optOutsAtTwilio(sql, sender)}`;
  const changed = await changeOrders(db, sql`${locked}, ${message}${isOptOut ? recorded : sql``}`, update, events);
  return changed.size > 0;
}

/**
 * Makes a text owed again, as if it had not been sent. The refused message's `sid` is kept, so that neither this
 * report a second time nor a late answer to that send is taken for the next one's. Another send of unknown outcome
 * stays counted with its time, so that it is looked up. The pause doubles with each refusal, or what is kept would
 * take the whole rate of texts from those that a carrier may take. The row has its end, too: the job of the refused
 * send may go on beside the new one.
 */
async function keepText(db: Db, { kind, sid, failureCode }: TextReport, locked: Fragment): Promise<boolean> {
  const { sql } = db;
  const jobId = sql`nextval('outbox_id_seq')`;
  const isTooFast = failureCode !== null && SENT_TOO_FAST.includes(failureCode);
  const firstPause = isTooFast ? SENT_TOO_FAST_PAUSE_SECONDS : SENDER_REFUSED_PAUSE_SECONDS;
  const after = (earlierRefusals: Fragment) => sql`now() + make_interval(secs => least(
    ${MAX_SENDER_REFUSED_PAUSE_SECONDS}, ${firstPause} * 2 ^ (${earlierRefusals})))`;
  // What is returned has this refusal, too.
  const runAt = after(sql`cardinality(m.refused_sids) - 1`);
  const isKept = sql`${isThisOne(sql, sid)} and m.status in ('sending', 'sent')`;
  const reset = sql`status = 'sending', sends = case when m.sid is null then m.sends - 1 else 0 end,
    counted_at = case when m.sid is null and m.sends > 1 then m.counted_at
      else ${after(sql`cardinality(m.refused_sids)`)} end,
    sid = null, failure_code = null, refused_sids = m.refused_sids || ${sid}::text`;
  // An optional text knows its job.
  const message =
    kind === 'tracking'
      ? sql`update messages m set ${reset} from locked where m.order_id = locked.id and ${isKept}
          -- Its row stays \`sent\` whatever the phone says.
          and locked.sms_status in ('queued', 'sent')
        returning m.order_id, locked.retailer_id, ${jobId} as job_id, 'sms' as queue, ${runAt} as run_at`
      : sql`update texts m set ${reset}, outbox_id = ${jobId}, updated_at = now()
        from locked where m.order_id = locked.id and m.kind = ${kind} and ${isKept}
        returning m.order_id, locked.retailer_id, m.outbox_id as job_id, 'text' as queue, ${runAt} as run_at`;
  const before = sql`${locked}, message as (${message}), job as (
      insert into outbox (id, queue, order_id, retailer_id, run_at, lease_until) overriding system value
      select job_id, queue, order_id, retailer_id, run_at, run_at + ${firstLease(sql)} from message
    )`;
  const update = sql`
    update orders o set ${kind === 'tracking' ? sql`sms_status = 'queued', ` : sql``}sequence = o.sequence + 1
    from message where o.id = message.order_id`;
  const data = textEventData(sql, sql`${kind}::text`, sql`${failureCode}::text`);
  const events = sql`select id, sequence, 'sms_kept', ${data} from changed`;
  const changed = await changeOrders(db, before, update, events);
  return changed.size > 0;
}

/** The message was sent, and is this one as far as that is known. */
const isThisOne = (sql: Sql, sid: string): Fragment =>
  sql`m.sends > 0 and coalesce(m.sid, ${sid}) = ${sid} and ${sid} <> all(m.refused_sids)`;

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
const mayBecome = (sql: Sql, status: string, from: Fragment, code: Fragment): Fragment => {
  const before = status === 'sent' ? ['queued', 'sending'] : ['queued', 'sending', 'sent'];
  return sql`(${from} = any(${before}::text[]) or (${from} = 'failed' and ${code} = 'outcome_unknown'))`;
};
