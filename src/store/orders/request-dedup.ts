import type { Fragment, Sql } from 'postgres';
import { DEDUP_KEPT_MS } from '../../limits.ts';
import type { Db } from '../db.ts';
import { rowsOf } from '../fragments.ts';

/** An order whose reply was lost, and the fingerprint of its request, which had no key. */
export type LostReply = { readonly fingerprint: string; readonly orderId: string };

const REPLIES = rowsOf<LostReply>([
  ['fingerprint', 'text', (reply) => reply.fingerprint],
  ['order_id', 'uuid', (reply) => reply.orderId],
]);

/** The time since which a lost reply is remembered. */
const rememberedSince = (sql: Sql) => sql`now() - make_interval(secs => ${DEDUP_KEPT_MS / 1000})`;

/**
 * Whether an equal request is to have the order `id`, and not one that was cancelled or has expired. An id without a
 * row counts, as its commit may be of unknown outcome. A subquery, so that no plan reads the orders by anything else.
 */
const isWanted = (sql: Sql, id: Fragment) =>
  sql`coalesce((select o.status from orders o where o.id = ${id}), 'unknown') not in ('cancelled', 'expired')`;

/**
 * The part of the insert of orders that holds back requests without a key for the lost replies of equal ones:
 * of its `input`, the ids of as many equal requests as orders wait for one. It only reads, from a table that
 * is nearly always empty.
 */
export const heldBack = (sql: Sql) => sql`
  select id from (
    select i.id, (select count(*) from unnest(u.abandoned) a(id) where ${isWanted(sql, sql`a.id`)}) as orders,
      row_number() over (partition by u.fingerprint order by i.id) as n
    from input i join unheard_requests u on u.fingerprint = i.fingerprint
    where i.idempotency_key is null and u.at > ${rememberedSince(sql)}
  ) equal where n <= orders`;

/**
 * Records lost replies, each once. The rows are locked in the order of their fingerprints, as
 * `takeLostReplies` does, so that two statements cannot deadlock. A row does not grow without end, because
 * only requests that are at work at the same time make several orders while one waits, and
 * those that ended go.
 */
export async function recordLostReplies({ sql, processId }: Db, replies: readonly LostReply[]): Promise<void> {
  await sql`
    insert into unheard_requests as u (fingerprint, origin, order_id, abandoned)
    select fingerprint collate "C", ${processId}, (array_agg(order_id))[1], array_agg(order_id)
    from (${REPLIES(sql, replies)}) r group by 1 order by 1
    on conflict (fingerprint) do update set at = now(), abandoned = array(
      select a.id from unnest(u.abandoned) a(id) where u.at > ${rememberedSince(sql)} and ${isWanted(sql, sql`a.id`)}
      union select unnest(excluded.abandoned) order by 1)`;
}

/** The orders of at most `limit` lost replies, oldest first; of those that {@link heldBack} counts. */
export async function findLostReplies({ sql }: Db, fingerprint: string, limit: number): Promise<readonly string[]> {
  const [row] = await sql`
    select array(
      select a.id from unnest(abandoned) with ordinality a(id, n)
      where ${isWanted(sql, sql`a.id`)} order by n limit ${limit}
    ) as ids
    from unheard_requests where fingerprint = ${fingerprint} and at > ${rememberedSince(sql)}`;
  return row?.ids ?? [];
}

/**
 * Takes lost replies out of the table. Of several requests and processes that take the same one, one does.
 *
 * @returns the ids of the orders that were there
 */
export async function takeLostReplies({ sql }: Db, replies: readonly LostReply[]): Promise<Map<string, true>> {
  const rows = await sql`
    with asked as materialized (${REPLIES(sql, replies)}
    ), found as materialized (
      select fingerprint, abandoned from unheard_requests
      where fingerprint in (select fingerprint from asked) order by fingerprint for update
    ), rest as materialized (
      select fingerprint, array(
        select unnest(f.abandoned) except select order_id from asked where fingerprint = f.fingerprint order by 1
      ) as abandoned
      from found f
    ), emptied as (
      delete from unheard_requests u using rest r where u.fingerprint = r.fingerprint and r.abandoned = '{}'
    ), reduced as (
      update unheard_requests u set abandoned = r.abandoned from rest r
      where u.fingerprint = r.fingerprint and r.abandoned <> '{}'
    )
    select a.order_id from asked a join found f on f.fingerprint = a.fingerprint and a.order_id = any(f.abandoned)`;
  return new Map(rows.map((row) => [row.order_id, true]));
}

/**
 * Deletes at most `limit` rows older than DEDUP_KEPT_MS; returns their number. The table is small and needs
 * no index on `at`.
 */
export async function pruneRequests({ sql }: Db, limit: number): Promise<number> {
  const result = await sql`
    delete from unheard_requests where fingerprint = any(array(
      select fingerprint from unheard_requests where at < ${rememberedSince(sql)}
      limit ${limit} for update skip locked))`;
  return result.count;
}
