import type { Db } from '../db.ts';
import { phoneHash } from './text-rows.ts';

/** Messages of a phone that are remembered, so that one which Twilio sends again changes nothing. */
const OPT_OUT_MESSAGES_KEPT = 10;

/**
 * Heeds a phone's wish for no texts, or for texts again. A message that was heeded before, and one that asks
 * again for texts that nobody stopped, change nothing.
 *
 * @param messageSid Twilio's id of the message; null for the operator's command
 * @returns whether the list changed
 */
export async function setOptOut(
  { sql }: Db,
  phone: string,
  optedOut: boolean,
  messageSid: string | null,
): Promise<boolean> {
  const source = messageSid === null ? 'operator' : 'reply';
  const sids = messageSid === null ? [] : [messageSid];
  const hash = phoneHash(sql, sql`${phone}::text`);
  // The first condition stands for a phone without a row, the second for one with it.
  const rows = await sql`
    insert into text_opt_outs (phone_hash, opted_out, source, message_sids)
    select ${hash}, ${optedOut}::bool, ${source}, ${sids}::text[]
    where ${optedOut}::bool or exists (select from text_opt_outs where phone_hash = ${hash})
    on conflict (phone_hash) do update set opted_out = excluded.opted_out, source = excluded.source,
      changed_at = now(),
      message_sids = (excluded.message_sids || text_opt_outs.message_sids)[1:${OPT_OUT_MESSAGES_KEPT}::int]
    where not (excluded.message_sids && text_opt_outs.message_sids)
    returning phone_hash`;
  return rows.length === 1;
}

export type OptOut = { readonly optedOut: boolean; readonly source: string; readonly changedAt: Date };

/** What a phone asked for last; null for one that never asked. */
export async function findOptOut({ sql }: Db, phone: string): Promise<OptOut | null> {
  const [row] = await sql`
    select opted_out, source, changed_at from text_opt_outs
    where phone_hash = ${phoneHash(sql, sql`${phone}::text`)}`;
  return row ? { optedOut: row.opted_out, source: row.source, changedAt: row.changed_at } : null;
}
