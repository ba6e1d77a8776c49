import type { Fragment, Sql } from 'postgres';
import { MAX_ORGANIZATION_KEYS, MAX_ORGANIZATION_STORES } from '../../limits.ts';
import type { Db } from '../db.ts';
import { changeAndTell, keyIsGood } from '../fragments.ts';
import type { Printable } from '../pages.ts';
import type { NewKey } from './retailers.ts';

/** An organization and its key of an authenticated request. */
export type OrganizationKey = {
  readonly keyId: string;
  readonly organizationId: string;
  readonly name: string;
  /** Its active stores. */
  readonly retailerIds: readonly string[];
};

/** The organizations with good keys of these hashes, by hash. */
export async function findOrganizationKeys(
  { sql }: Db,
  keyHashes: readonly string[],
): Promise<Map<string, OrganizationKey>> {
  const rows = await sql`
    select k.key_hash, k.id as "keyId", o.id as "organizationId", o.name,
      (select coalesce(json_agg(s.id), '[]') from (
         select r.id from retailers r where r.organization_id = o.id and r.status = 'active'
         order by r.id limit ${MAX_ORGANIZATION_STORES}) s) as "retailerIds"
    from organization_keys k join organizations o on o.id = k.organization_id
    where k.key_hash = any(${keyHashes as string[]}::text[]) and ${keyIsGood(sql)}`;
  return new Map(rows.map(({ key_hash, ...key }) => [key_hash, key as OrganizationKey]));
}

export async function addOrganization({ sql }: Db, id: string, name: string): Promise<void> {
  await sql`insert into organizations (id, name) values (${id}, ${name})`;
}

/** Corrects the name of an organization; false for an unknown one. */
export async function renameOrganization(db: Db, id: string, name: string): Promise<boolean> {
  const change = db.sql`update organizations set name = ${name} where id = ${id}`;
  return (await changeAndTell(db, 'organization', change)) === 1;
}

/** An organization with its stores and its keys' ids; null for an unknown one. */
export async function showOrganization({ sql }: Db, id: string): Promise<Printable | null> {
  const [row] = await sql`
    select o.id as organization_id, o.name, o.created_at,
      (select coalesce(json_agg(json_build_object('key_id', k.id, 'created_at', k.created_at,
              'revoked_at', k.revoked_at, 'valid_until', k.valid_until) order by k.created_at), '[]')
       from organization_keys k where k.organization_id = o.id) as keys,
      (select coalesce(json_agg(json_build_object('retailer_id', r.id, 'name', r.name, 'status', r.status,
              'external_id', r.external_id) order by r.name, r.id), '[]')
       from retailers r where r.organization_id = o.id) as stores
    from organizations o where o.id = ${id}`;
  return row ? { ...row } : null;
}

/** How many stores an organization has; null for an unknown one. */
export async function countStoresOf({ sql }: Db, organizationId: string): Promise<number | null> {
  const [row] = await sql`
    select (select count(*)::int from retailers where organization_id = o.id) as stores
    from organizations o where id = ${organizationId}`;
  return row?.stores ?? null;
}

export type JoinOutcome =
  | 'joined'
  | 'unknown_organization'
  | 'unknown_store'
  /** It is of this organization, or of another one, already. */
  | 'taken'
  | 'full';

/** Adds a store to an organization, whose keys read its orders from then on, within a second. */
export async function joinOrganization(
  { sql, processId }: Db,
  organizationId: string,
  retailerId: string,
): Promise<JoinOutcome> {
  const [row] = await sql`
    with room as materialized (select stores from lock_organization(${organizationId})
    ), changed as (
      update retailers set organization_id = ${organizationId}, updated_at = now()
      where id = ${retailerId} and organization_id is null
        and (select stores from room) < ${MAX_ORGANIZATION_STORES} returning id
    )${organizationNotice(sql, processId, organizationId)}
    select exists (select from changed, notice) as joined, (select stores from room) as stores,
      (select organization_id is not null from retailers where id = ${retailerId}) as taken`;
  if (row?.joined) return 'joined';
  if ((row?.stores ?? null) === null) return 'unknown_organization';
  if ((row?.taken ?? null) === null) return 'unknown_store';
  return row?.taken ? 'taken' : 'full';
}

/** Takes a store out of an organization, whose keys stop reading its orders within a second. */
export async function leaveOrganization(
  { sql, processId }: Db,
  organizationId: string,
  retailerId: string,
): Promise<boolean> {
  const rows = await sql`
    with changed as (
      update retailers set organization_id = null, updated_at = now()
      where id = ${retailerId} and organization_id = ${organizationId} returning id
    )${organizationNotice(sql, processId, organizationId)}
    select from changed, notice`;
  return rows.length === 1;
}

const organizationNotice = (sql: Sql, processId: string, organizationId: string): Fragment => sql`, notice as (
      select pg_notify('sameday', ${processId} || ':organization:' || ${organizationId}::text) from changed
    )`;

/** Adds a key that reads; false where the organization has MAX_ORGANIZATION_KEYS, null for an unknown one. */
export async function addOrganizationKey({ sql }: Db, organizationId: string, key: NewKey): Promise<boolean | null> {
  const [row] = await sql`
    with room as materialized (select keys from lock_organization(${organizationId})
    ), added as (
      insert into organization_keys (id, organization_id, key_hash)
      select ${key.id}::uuid, ${organizationId}::uuid, ${key.keyHash} from room where keys < ${MAX_ORGANIZATION_KEYS}
      returning id
    )
    select exists (select from room) as known, exists (select from added) as added`;
  return row?.known ? row.added : null;
}

/**
 * Replaces one key of an organization, which goes on for a while; no end is put off.
 *
 * @param overlapSeconds 0 to end it at once
 * @returns until when it goes on; false where MAX_ORGANIZATION_KEYS would be good; null for an unknown key, or
 *   one that is not good
 */
export async function rotateOrganizationKey(
  { sql }: Db,
  organizationId: string,
  keyId: string,
  key: NewKey,
  overlapSeconds: number,
): Promise<Date | false | null> {
  // One that ends at once makes room for the new one.
  const hasRoom = sql`(select keys from room) < ${MAX_ORGANIZATION_KEYS}::int + (${overlapSeconds}::float8 = 0)::int`;
  const end = sql`least(k.valid_until, now() + make_interval(secs => ${overlapSeconds}))`;
  const [row] = await sql`
    with room as materialized (select keys from lock_organization(${organizationId})
    ), old as (
      select k.id from organization_keys k
      where k.id = ${keyId} and k.organization_id = ${organizationId} and ${keyIsGood(sql)}
    ), ending as (
      update organization_keys k set valid_until = ${end},
        revoked_at = case when ${overlapSeconds}::float8 = 0 then now() end
      -- A key that is revoked meanwhile stays so: what the row holds then is looked at again.
      where k.id in (select id from old) and ${keyIsGood(sql)} and ${hasRoom}
      returning k.valid_until
    ), added as (
      insert into organization_keys (id, organization_id, key_hash)
      select ${key.id}::uuid, ${organizationId}::uuid, ${key.keyHash} from ending
    )
    select exists (select from old) and not ${hasRoom} as full, (select valid_until from ending) as until`;
  return row?.until ?? (row?.full ? false : null);
}

/** Revokes a key of an organization; false where it has no such key that is good. */
export async function revokeOrganizationKey({ sql }: Db, organizationId: string, keyId: string): Promise<boolean> {
  const rows = await sql`
    update organization_keys k set revoked_at = now()
    where k.id = ${keyId} and k.organization_id = ${organizationId} and ${keyIsGood(sql)} returning k.id`;
  return rows.length === 1;
}
