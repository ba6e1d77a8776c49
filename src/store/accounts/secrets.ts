import type { Row } from 'postgres';
import { SECRET_MARK_LENGTH } from '../../domain/ids.ts';
import type { Db } from '../db.ts';
import { keyIsGood } from '../fragments.ts';

/** An API key or a driver's token as the tables hold it. */
export type SecretRow = {
  /** Of the key's or the driver's row. */
  readonly id: string;
  /** Its hash, or the first SECRET_MARK_LENGTH characters of it. */
  readonly hash: string;
  /** Whether nobody can use it any more, for good. */
  readonly isRevoked: boolean;
};

const toSecret = ({ id, hash, revoked }: Row): SecretRow => ({ id, hash, isRevoked: revoked });

/** The marks of the keys that are good, in the order of their ids, after `afterId`. */
export async function listKeys({ sql }: Db, afterId: string, limit: number): Promise<SecretRow[]> {
  const rows = await sql`
    select id, left(key_hash, ${SECRET_MARK_LENGTH}::int) as hash, false as revoked from api_keys k
    where ${keyIsGood(sql)} and id > ${afterId} order by id limit ${limit}`;
  return rows.map(toSecret);
}

/** Every key of these stores, revoked and ended ones included. */
export async function listKeysOf({ sql }: Db, retailerIds: readonly string[]): Promise<SecretRow[]> {
  const rows = await sql`
    select id, key_hash as hash, not ${keyIsGood(sql)} as revoked from api_keys k
    where retailer_id = any(${[...retailerIds]}::uuid[])`;
  return rows.map(toSecret);
}

/** The marks of the organizations' keys that are good, in the order of their ids, after `afterId`. */
export async function listOrganizationKeys({ sql }: Db, afterId: string, limit: number): Promise<SecretRow[]> {
  const rows = await sql`
    select id, left(key_hash, ${SECRET_MARK_LENGTH}::int) as hash, false as revoked from organization_keys k
    where ${keyIsGood(sql)} and id > ${afterId} order by id limit ${limit}`;
  return rows.map(toSecret);
}

/** Every key of these organizations, revoked and ended ones included. */
export async function listOrganizationKeysOf({ sql }: Db, organizationIds: readonly string[]): Promise<SecretRow[]> {
  const rows = await sql`
    select id, key_hash as hash, not ${keyIsGood(sql)} as revoked from organization_keys k
    where organization_id = any(${[...organizationIds]}::uuid[])`;
  return rows.map(toSecret);
}

/** The marks of the drivers' tokens, in the order of the drivers' ids, after `afterId`. */
export async function listTokens({ sql }: Db, afterId: string, limit: number): Promise<SecretRow[]> {
  const rows = await sql`
    select id, left(token_hash, ${SECRET_MARK_LENGTH}::int) as hash, false as revoked from drivers
    where id > ${afterId} order by id limit ${limit}`;
  return rows.map(toSecret);
}

/** The tokens of these drivers; what a token may do is looked up each time, so none counts as revoked. */
export async function listTokensOf({ sql }: Db, driverIds: readonly string[]): Promise<SecretRow[]> {
  const rows = await sql`
    select id, token_hash as hash, false as revoked from drivers where id = any(${[...driverIds]}::uuid[])`;
  return rows.map(toSecret);
}

/** The marks of the trackers, in the order of the drivers' ids, after `afterId`. */
export async function listTrackers({ sql }: Db, afterId: string, limit: number): Promise<SecretRow[]> {
  const rows = await sql`
    select id, left(tracker_hash, ${SECRET_MARK_LENGTH}::int) as hash, false as revoked from drivers
    where tracker_hash is not null and id > ${afterId} order by id limit ${limit}`;
  return rows.map(toSecret);
}

/** The trackers of these drivers. One that was taken away is in no row, so a look-up does not find it. */
export async function listTrackersOf({ sql }: Db, driverIds: readonly string[]): Promise<SecretRow[]> {
  const rows = await sql`
    select id, tracker_hash as hash, false as revoked from drivers
    where id = any(${[...driverIds]}::uuid[]) and tracker_hash is not null`;
  return rows.map(toSecret);
}

/**
 * Sends a notice for this process itself: when it is heard, every notice committed before was. The commit
 * does not wait for the disk, as nothing is stored.
 */
export async function sayWord({ sql, processId }: Db, word: string): Promise<void> {
  await sql`
    with fast as materialized (select set_config('synchronous_commit', 'off', true))
    select pg_notify('sameday', ${processId} || ':word:' || ${word}::text) from fast`;
}
