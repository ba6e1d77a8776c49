import type { Row } from 'postgres';
import { TIER_IDS, type Tier, type TierId, type Tiers } from '../domain/tier.ts';
import type { Db } from './db.ts';
import { changeAndTell } from './fragments.ts';

const COLUMNS: Readonly<Record<keyof Tier, string>> = {
  id: 'id',
  feeCents: 'fee_cents',
  payoutCents: 'payout_cents',
  radiusMeters: 'radius_meters',
  radiusGrowthMetersPerMinute: 'radius_growth_meters_per_minute',
  maxRadiusMeters: 'max_radius_meters',
  maxDistanceMeters: 'max_distance_meters',
  weight: 'weight',
  maxWaitSeconds: 'max_wait_seconds',
  promiseMinutes: 'promise_minutes',
  dispatchMode: 'dispatch_mode',
};
const FIELDS = Object.entries(COLUMNS) as [keyof Tier, string][];

/** The tier table, the tiers of the contract first. */
export async function loadTiers({ sql }: Db): Promise<Tiers> {
  const rows = await sql`
    select * from tiers order by array_position(${[...TIER_IDS]}::text[], id) nulls last, id`;
  const toTier = (row: Row) => Object.fromEntries(FIELDS.map(([field, column]) => [field, row[column]])) as Tier;
  return new Map(rows.map((row): [TierId, Tier] => [row.id, toTier(row)]));
}

/** Changes the given columns of a tier; existing orders keep their fee. False for an unknown tier. */
export async function setTier(db: Db, tierId: TierId, changes: Partial<Omit<Tier, 'id'>>): Promise<boolean> {
  const wanted: Partial<Tier> = changes;
  const given = FIELDS.map(([field, column]) => [column, wanted[field]] as const);
  const set = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  return (await changeAndTell(db, 'tier', db.sql`update tiers set ${db.sql(set)} where id = ${tierId}`)) === 1;
}
