import { TIER_IDS, type Tier, type TierId, type Tiers } from '../domain/tier.ts';
import type { Db } from './db.ts';

/** The tier table, the tiers of the contract first. */
export async function loadTiers({ sql }: Db): Promise<Tiers> {
  const rows = await sql`
    select * from tiers order by array_position(${[...TIER_IDS]}::text[], id) nulls last, id`;
  return new Map(
    rows.map((row): [TierId, Tier] => [
      row.id,
      {
        id: row.id,
        feeCents: row.fee_cents,
        payoutCents: row.payout_cents,
        radiusMeters: row.radius_meters,
        radiusGrowthMetersPerMinute: row.radius_growth_meters_per_minute,
        maxRadiusMeters: row.max_radius_meters,
        maxDistanceMeters: row.max_distance_meters,
        weight: row.weight,
        maxWaitSeconds: row.max_wait_seconds,
        promiseMinutes: row.promise_minutes,
        dispatchMode: row.dispatch_mode,
      },
    ]),
  );
}

/** Changes the given columns of a tier; existing orders keep their fee. False for an unknown tier. */
export async function setTier(
  { sql, processId }: Db,
  tierId: TierId,
  changes: Partial<Omit<Tier, 'id'>>,
): Promise<boolean> {
  const or = <Value>(value: Value | undefined) => value ?? null;
  const rows = await sql`
    with changed as (
      update tiers set fee_cents = coalesce(${or(changes.feeCents)}, fee_cents),
        payout_cents = coalesce(${or(changes.payoutCents)}, payout_cents),
        radius_meters = coalesce(${or(changes.radiusMeters)}, radius_meters),
        radius_growth_meters_per_minute =
          coalesce(${or(changes.radiusGrowthMetersPerMinute)}, radius_growth_meters_per_minute),
        max_radius_meters = coalesce(${or(changes.maxRadiusMeters)}, max_radius_meters),
        max_distance_meters = coalesce(${or(changes.maxDistanceMeters)}, max_distance_meters),
        weight = coalesce(${or(changes.weight)}, weight),
        max_wait_seconds = coalesce(${or(changes.maxWaitSeconds)}, max_wait_seconds),
        promise_minutes = coalesce(${or(changes.promiseMinutes)}, promise_minutes),
        dispatch_mode = coalesce(${or(changes.dispatchMode)}, dispatch_mode)
      where id = ${tierId} returning id
    ), notice as (
      select pg_notify('sameday', ${processId} || ':tier:' || id) from changed
    )
    select id from changed, notice`;
  return rows.length === 1;
}
