import type { Sql } from 'postgres';
import { DEDUP_KEPT_MS } from '../limits.ts';

/**
 * The application name of the connections on which a process commits orders. While there is such a
 * connection, the process counts as alive.
 */
export const commitsName = (processId: string): string => `sameday commits ${processId}`;

/**
 * The part of the insert of orders that claims the fingerprints of requests without a key for this process.
 * It reads the statement's `input` and returns the claimed fingerprints. A fingerprint is refused while
 * another process answers an equal request, or if the client of one has disconnected.
 *
 * The unique index decides, so a claim waits for an equal one that is being committed elsewhere. Fingerprints
 * are claimed in their order, so that two batches cannot deadlock.
 */
export const claimFingerprints = (sql: Sql, processId: string) => sql`
  insert into unheard_requests as u (fingerprint, origin, order_id)
  select distinct on (fingerprint collate "C") fingerprint, ${processId}, id from input
  where idempotency_key is null and fingerprint is not null order by fingerprint collate "C"
  on conflict (fingerprint) do update
  set origin = excluded.origin, order_id = excluded.order_id, abandoned = '{}', at = now()
  where (u.origin = excluded.origin and u.abandoned = '{}')
    or u.at < now() - make_interval(secs => ${DEDUP_KEPT_MS / 1000})
  returning fingerprint`;
