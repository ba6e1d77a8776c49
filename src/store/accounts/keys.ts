import { MAX_OVERLAPPING_KEYS } from '../../limits.ts';
import type { Db } from '../db.ts';
import { keyIsGood } from '../fragments.ts';
import type { NewKey } from './retailers.ts';

export type OverlapOutcome =
  /** The old keys that were good go on until then, or until their earlier end; null where there were none. */
  | { readonly kind: 'rotated'; readonly oldKeysUntil: Date | null }
  | { readonly kind: 'unknown' }
  /** MAX_OVERLAPPING_KEYS keys of the store would go on beside its newest one, and more. */
  | { readonly kind: 'too_many' };

/**
 * Adds a key to a store and lets its old ones go on for a while; no end is put off. `rotateKey` ends them at
 * once.
 */
export async function rotateKeyWithOverlap(
  { sql }: Db,
  retailerId: string,
  key: NewKey,
  overlapSeconds: number,
): Promise<OverlapOutcome> {
  const [row] = await sql`
    with good as (
      select k.id from api_keys k where k.retailer_id = ${retailerId} and ${keyIsGood(sql)}
    ), store as (
      select id from retailers where id = ${retailerId}
    ), room as (
      select id from store where (select count(*) from good) <= ${MAX_OVERLAPPING_KEYS}
    ), ending as (
      update api_keys set valid_until = least(valid_until, now() + make_interval(secs => ${overlapSeconds}))
      where id in (select id from good) and exists (select from room) returning valid_until
    ), added as (
      insert into api_keys (id, retailer_id, key_hash) select ${key.id}::uuid, id, ${key.keyHash} from room returning id
    )
    select exists (select from store) as known, exists (select from added) as added,
      (select max(valid_until) from ending) as until`;
  if (!row?.known) return { kind: 'unknown' };
  return row.added ? { kind: 'rotated', oldKeysUntil: row.until } : { kind: 'too_many' };
}

/**
 * Marks keys of stores and organizations that are at their end as revoked, so that every process drops them.
 *
 * @param limit of each kind
 * @returns their number
 */
export async function revokeEndedKeys({ sql }: Db, limit: number): Promise<number> {
  const rows = await sql`
    with of_stores as (
      update api_keys set revoked_at = valid_until where id in (
        select id from api_keys where valid_until <= now() and revoked_at is null limit ${limit})
      returning id
    ), of_organizations as (
      update organization_keys set revoked_at = valid_until where id in (
        select id from organization_keys where valid_until <= now() and revoked_at is null limit ${limit})
      returning id
    )
    select id from of_stores union all select id from of_organizations`;
  return rows.length;
}
