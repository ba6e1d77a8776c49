import type { Fragment, Sql } from 'postgres';
import type { OptionalText } from '../../domain/customer-text.ts';

/** Time after which Twilio is asked again, by a text, whether a phone that it refused still wants none. */
export const OPT_OUT_ASKED_AGAIN_SECONDS = 24 * 3_600;

/** Most texts a day (UTC) to one phone and for one store; 0 for no bound. */
export type TextBounds = { readonly perPhone: number; readonly perStore: number };

/** A text that a change of an order owes its customer, where their store has chosen it and they consented. */
export type TextOwed = { readonly kind: OptionalText; readonly delaySeconds: number };

/** The job of such a text, in the form of `insertJobs`; none where the order has had one of the kind. */
export const textJob = (sql: Sql, { kind, delaySeconds }: TextOwed): Fragment => sql`
  select 'text' as queue, now() + make_interval(secs => ${delaySeconds}) as run_at
  from orders told join customers c on c.id = told.customer_id and c.sms_opt_in
  join retailers r on r.id = told.retailer_id and ${kind}::text = any(r.text_kinds)
  where told.id = changed.id
    and not exists (select from texts t where t.order_id = changed.id and t.kind = ${kind}::text)`;

/** The row of that job, `, text as (…)`; it reads `owed`. */
export const insertText = (sql: Sql, { kind }: TextOwed): Fragment => sql`, text as (
    insert into texts (order_id, kind, outbox_id) select id, ${kind}::text, outbox_id from owed where queue = 'text'
  )`;

/**
 * The CTEs that count the texts of `fresh` for their phone and their store on this day, and `over`: those
 * that are beyond a bound. The row of a count is locked until the commit, so that two workers cannot both
 * take the last place. A phone is kept as a hash. Without bounds nothing is counted.
 *
 * `fresh` has the `id`, `phone` and `retailer_id` of each text that is opened for the first time.
 */
export function countTexts(sql: Sql, { perPhone, perStore }: TextBounds): Fragment {
  if (perPhone === 0 && perStore === 0) return sql`, over as (select id, null::text as bound from fresh where false)`;
  return sql`, claims as materialized (
      select fresh.id, v.about, v.bound, v.most, count(*) over (partition by v.about) as size,
        row_number() over (partition by v.about order by fresh.id) as place
      from fresh
      cross join lateral (values
        ('phone:' || ${phoneHash(sql, sql`fresh.phone`)}, 'phone_limit', ${perPhone}::int),
        ('store:' || fresh.retailer_id, 'store_limit', ${perStore}::int)
      ) v(about, bound, most)
      where v.most > 0
    ), counted as (
      insert into text_counts (about, day, texts)
      select about, (now() at time zone 'UTC')::date, max(size) from claims group by about order by about
      on conflict (about, day) do update set texts = text_counts.texts + excluded.texts
      returning about, texts
    ), over as (
      select c.id, min(c.bound) as bound from claims c join counted t on t.about = c.about
      where t.texts - c.size + c.place > c.most group by c.id
    )`;
}

/** The hash under which a phone (E.164) is kept: SHA-256 in hex. */
export const phoneHash = (sql: Sql, phone: Fragment): Fragment =>
  sql`encode(sha256(convert_to(${phone}, 'UTF8')), 'hex')`;

/**
 * Whether this phone asked for no texts. Where only Twilio's refusal says so, Twilio is asked again from time to
 * time, by the next text: it may have heard a START that did not come here. Twilio refuses for the number alone that
 * was told STOP, so no other `sender` asks.
 */
export const hasOptedOut = (sql: Sql, phone: Fragment, sender: string): Fragment => sql`
  exists (
    select from text_opt_outs t
    where t.opted_out and t.phone_hash = ${phoneHash(sql, phone)}
      and (t.source <> 'twilio' or t.sender is distinct from ${sender}
        or t.changed_at > now() - make_interval(secs => ${OPT_OUT_ASKED_AGAIN_SECONDS})))`;

/** The phone that a text of the order `o` goes to: the customer's `c`, unless a scenario has another. */
export const sentTo = (sql: Sql): Fragment => sql`coalesce(o.scenario ->> 'text_to', c.phone)`;

/** Twilio's refusal of a phone that answered STOP. */
export const OPTED_OUT_AT_TWILIO = '21610';

/**
 * CTEs, `, told as (…), refused as (…), taken as (…)`, that keep the phones which Twilio refused because they opted
 * out there, and forget those of which it takes a text of this sender again. They read `recorded`, texts with their
 * `order_id`, `status` and `failure_code`. The text of a scenario went to another phone.
 */
export const optOutsAtTwilio = (sql: Sql, sender: string | null): Fragment => sql`, told as (
    select distinct ${phoneHash(sql, sql`c.phone`)} as hash, s.status = 'sent' as is_taken
    from recorded s join orders o on o.id = s.order_id join customers c on c.id = o.customer_id
    where (s.status = 'sent' or s.failure_code = ${OPTED_OUT_AT_TWILIO}) and o.scenario ->> 'text_to' is null
  ), refused as (
    insert into text_opt_outs (phone_hash, opted_out, source, sender)
    select hash, true, 'twilio', ${sender}::text from told where not is_taken order by hash
    on conflict (phone_hash) do update
    set opted_out = true, source = 'twilio', sender = excluded.sender, changed_at = now()
    where not text_opt_outs.opted_out or text_opt_outs.source = 'twilio'
  ), taken as (
    update text_opt_outs t set opted_out = false, changed_at = now()
    from (
      select phone_hash from text_opt_outs
      where opted_out and source = 'twilio' and sender = ${sender}
        and phone_hash in (select hash from told where is_taken)
      order by phone_hash for update
    ) stopped
    where t.phone_hash = stopped.phone_hash
  )`;

/** Whether the result `i` of the text `m` is not that of a message whose sender was refused meanwhile. */
export const isNews = (sql: Sql): Fragment => sql`(i.sid is null or i.sid <> all(m.refused_sids))`;

/** The data of a text's event. */
export const textEventData = (sql: Sql, kind: Fragment, code: Fragment): Fragment => sql`
  jsonb_strip_nulls(jsonb_build_object('kind', ${kind}, 'code', ${code}))`;
