import { DEDUP_KEPT_MS } from '../limits.ts';
import type { Db } from './db.ts';
import { commitsOf } from './dedup-claims.ts';

/** What is known of requests without a key that say the same and whose client may not have heard of their order. */
export type EarlierRequest = {
  /** The process that answers them, or did. */
  readonly processId: string;
  /** Whether that is this process. */
  readonly isOurs: boolean;
  /** The order that one of them makes or made. */
  readonly orderId: string;
  /** Orders of those whose client is known not to have heard, oldest first. */
  readonly abandoned: readonly string[];
  readonly ageMs: number;
  /** Whether that process has a connection for its commits. */
  readonly isAlive: boolean;
};

/** What stands in the way of an equal request; null when nothing does any more. */
export async function findEarlierRequest({ sql, processId }: Db, fingerprint: string): Promise<EarlierRequest | null> {
  const [row] = await sql`
    select origin, order_id, abandoned, extract(epoch from clock_timestamp() - at)::float8 * 1000 as age_ms,
      exists (select from pg_stat_activity where application_name = ${commitsOf('')} || origin) as is_alive
    from unheard_requests where fingerprint = ${fingerprint}`;
  if (!row) return null;
  const { origin, abandoned } = row;
  return {
    processId: origin,
    isOurs: origin === processId,
    orderId: row.order_id,
    abandoned,
    ageMs: row.age_ms,
    isAlive: row.is_alive,
  };
}

/**
 * Remembers that the client of this order was not told of it. An order that is not committed yet can't be any more from
 * then on, unless its statement came first.
 */
export async function recordUndelivered({ sql, processId }: Db, fingerprint: string, orderId: string): Promise<void> {
  await sql`
    insert into unheard_requests as u (fingerprint, origin, order_id, abandoned)
    values (${fingerprint}, ${processId}, ${orderId}, array[${orderId}]::uuid[])
    on conflict (fingerprint) do update set at = now(),
      abandoned = case when excluded.order_id = any(u.abandoned) then u.abandoned
                       else u.abandoned || excluded.order_id end`;
}

/** Lets equal requests through again: those of this process were answered, and none was left. */
export async function releaseRequests({ sql, processId }: Db, fingerprints: readonly string[]): Promise<void> {
  // Locked in the order in which commits take them, so that neither deadlocks.
  await sql`
    with answered as materialized (
      select fingerprint from unheard_requests
      where fingerprint = any(${[...fingerprints]}::text[]) and origin = ${processId} and abandoned = '{}'
      order by fingerprint for update
    )
    delete from unheard_requests where fingerprint in (select fingerprint from answered)`;
}

/**
 * This process answers a repeat with an order that was made before: others wait for that as for any request.
 *
 * @returns whether nobody did so first
 */
export async function adoptUndelivered(
  { sql, processId }: Db,
  fingerprint: string,
  orderId: string,
  from: string,
): Promise<boolean> {
  const result = await sql`
    update unheard_requests
    set origin = ${processId}, order_id = ${orderId}, abandoned = array_remove(abandoned, ${orderId}::uuid), at = now()
    where fingerprint = ${fingerprint}
      and (${orderId}::uuid = any(abandoned) or (origin = ${from} and order_id = ${orderId} and abandoned = '{}'))`;
  return result.count === 1;
}

/** Of an order that turned out never to have been made nothing is remembered. */
export async function forgetUndelivered({ sql }: Db, fingerprint: string, orderId: string): Promise<void> {
  await sql`
    with gone as (
      delete from unheard_requests
      where fingerprint = ${fingerprint} and abandoned <@ array[${orderId}]::uuid[]
        and (order_id = ${orderId} or abandoned <> '{}')
    )
    update unheard_requests set abandoned = array_remove(abandoned, ${orderId}::uuid)
    where fingerprint = ${fingerprint} and ${orderId}::uuid = any(abandoned)
      and not abandoned <@ array[${orderId}]::uuid[]`;
}

/** Deletes what is too old to matter, at most `limit` rows; returns how many. The table is small, so it is read whole. */
export async function pruneRequests({ sql }: Db, limit: number): Promise<number> {
  const result = await sql`
    delete from unheard_requests where fingerprint = any(array(
      select fingerprint from unheard_requests
      where at < now() - make_interval(secs => ${DEDUP_KEPT_MS / 1000}) limit ${limit} for update skip locked))`;
  return result.count;
}
