import { DEDUP_KEPT_MS } from '../limits.ts';
import type { Db } from './db.ts';
import { commitsName } from './dedup-claims.ts';

/** Equal requests without a key of which at least one is not known to be answered. */
export type EarlierRequest = {
  /** The process that answers them or did. */
  readonly processId: string;
  /** Whether `processId` is this process. */
  readonly isOurs: boolean;
  /** The order that the last of them creates or created. */
  readonly orderId: string;
  /** Orders whose reply is known to be lost, oldest first. */
  readonly abandoned: readonly string[];
  readonly ageMs: number;
  /** Whether the process has a commit connection. */
  readonly isAlive: boolean;
};

/** The requests that block an equal one; null if none does. */
export async function findEarlierRequest({ sql, processId }: Db, fingerprint: string): Promise<EarlierRequest | null> {
  const [row] = await sql`
    select origin, order_id, abandoned, extract(epoch from clock_timestamp() - at)::float8 * 1000 as age_ms,
      exists (select from pg_stat_activity where application_name = ${commitsName('')} || origin) as is_alive
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
 * Records that the reply with this order was lost. An order that is not committed yet cannot be committed
 * afterwards, unless its statement came first.
 */
export async function recordUndelivered({ sql, processId }: Db, fingerprint: string, orderId: string): Promise<void> {
  await sql`
    insert into unheard_requests as u (fingerprint, origin, order_id, abandoned)
    values (${fingerprint}, ${processId}, ${orderId}, array[${orderId}]::uuid[])
    on conflict (fingerprint) do update set at = now(),
      abandoned = case when excluded.order_id = any(u.abandoned) then u.abandoned
                       else u.abandoned || excluded.order_id end`;
}

/** Releases fingerprints whose requests at this process were all answered. */
export async function releaseRequests({ sql, processId }: Db, fingerprints: readonly string[]): Promise<void> {
  // Locked in the order in which commits claim them, so that the two cannot deadlock.
  await sql`
    with answered as materialized (
      select fingerprint from unheard_requests
      where fingerprint = any(${[...fingerprints]}::text[]) and origin = ${processId} and abandoned = '{}'
      order by fingerprint for update
    )
    delete from unheard_requests where fingerprint in (select fingerprint from answered)`;
}

/**
 * Claims an order with a lost reply for this process, which answers a repeated request with it. Equal
 * requests wait for that answer as for any other.
 *
 * @param from the process that answered the order before
 * @returns false if another request has claimed the order first
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

/** Removes an order that was never committed from the record of lost replies. */
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

/** Removes expired orders from the record of lost replies: an equal request wants an order that is delivered. */
export async function forgetExpired({ sql }: Db): Promise<void> {
  await sql`
    with lost as materialized (
      select fingerprint, array(
        select a.id from unnest(abandoned) as a(id)
        where not exists (select from orders o where o.id = a.id and o.status = 'expired')) as left_over
      from unheard_requests where abandoned <> '{}' order by fingerprint for update skip locked
    ), gone as (
      delete from unheard_requests where fingerprint in (select fingerprint from lost where left_over = '{}')
    )
    update unheard_requests u set abandoned = lost.left_over from lost
    where u.fingerprint = lost.fingerprint and lost.left_over <> '{}'
      and cardinality(lost.left_over) < cardinality(u.abandoned)`;
}

/**
 * Deletes at most `limit` rows older than DEDUP_KEPT_MS; returns their number. The table is small and needs
 * no index on `at`.
 */
export async function pruneRequests({ sql }: Db, limit: number): Promise<number> {
  const result = await sql`
    delete from unheard_requests where fingerprint = any(array(
      select fingerprint from unheard_requests
      where at < now() - make_interval(secs => ${DEDUP_KEPT_MS / 1000}) limit ${limit} for update skip locked))`;
  return result.count;
}
