import type { Fragment, Row, Sql } from 'postgres';
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

/** The kinds of secrets, as their notices name them. */
export type SecretKind = 'key' | 'organization_key' | 'token' | 'tracker';

/** A table with secrets of one kind. What a token may do is looked up each time, so each counts as good. */
type SecretTable = {
  readonly table: Fragment;
  readonly hash: Fragment;
  /** The column of whose they are. */
  readonly holder: Fragment;
  readonly isGood: Fragment;
};

function tableOf(sql: Sql, kind: SecretKind): SecretTable {
  const key = { hash: sql`key_hash`, isGood: keyIsGood(sql) };
  switch (kind) {
    case 'key':
      return { ...key, table: sql`api_keys k`, holder: sql`retailer_id` };
    case 'organization_key':
      return { ...key, table: sql`organization_keys k`, holder: sql`organization_id` };
    case 'token':
      return { table: sql`drivers`, hash: sql`token_hash`, holder: sql`id`, isGood: sql`true` };
    case 'tracker':
      return { table: sql`drivers`, hash: sql`tracker_hash`, holder: sql`id`, isGood: sql`tracker_hash is not null` };
  }
}

const toSecret = ({ id, hash, revoked }: Row): SecretRow => ({ id, hash, isRevoked: revoked });

/** The marks of the secrets of a kind that are good, in the order of their ids, after `afterId`. */
export async function listSecrets({ sql }: Db, kind: SecretKind, afterId: string, limit: number): Promise<SecretRow[]> {
  const { table, hash, isGood } = tableOf(sql, kind);
  const rows = await sql`
    select id, left(${hash}, ${SECRET_MARK_LENGTH}::int) as hash, false as revoked from ${table}
    where ${isGood} and id > ${afterId} order by id limit ${limit}`;
  return rows.map(toSecret);
}

/**
 * Every secret of a kind of these holders, revoked and ended ones included. A tracker that was taken away is in no row,
 * so a look-up does not find it.
 */
export async function listSecretsOf({ sql }: Db, kind: SecretKind, holderIds: readonly string[]): Promise<SecretRow[]> {
  const { table, hash, holder, isGood } = tableOf(sql, kind);
  const rows = await sql`
    select id, ${hash} as hash, not ${isGood} as revoked from ${table}
    where ${holder} = any(${[...holderIds]}::uuid[]) and ${hash} is not null`;
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
