import type { Sql } from 'postgres';
import { DEDUP_KEPT_MS } from '../limits.ts';

/** The name of the connections on which a process commits orders; while there is one, the process is not dead. */
export const commitsOf = (origin: string): string => `sameday commits ${origin}`;

/**
 * A part of the statement that creates orders, on its `input`: takes the fingerprints of requests without a key for this
 * process, and returns those it got. Refused is one that another process answers or whose client left. The index decides,
 * so a request that is being committed elsewhere is waited for; in order, so that two batches cannot deadlock.
 */
export const claimFingerprints = (sql: Sql, origin: string) => sql`
  insert into unheard_requests as u (fingerprint, origin, order_id)
  select distinct on (fingerprint collate "C") fingerprint, ${origin}, id from input
  where idempotency_key is null and fingerprint is not null order by fingerprint collate "C"
  on conflict (fingerprint) do update
  set origin = excluded.origin, order_id = excluded.order_id, abandoned = '{}', at = now()
  where (u.origin = excluded.origin and u.abandoned = '{}')
    or u.at < now() - make_interval(secs => ${DEDUP_KEPT_MS / 1000})
  returning fingerprint`;
