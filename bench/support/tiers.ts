import { TIER_IDS, type Tier, type TierId, type Tiers } from '../../src/domain/tier.ts';

/** The tiers of the contract, with radii and weights like those of the first migration. */
export function loadTestTiers(): Tiers {
  const tier = (id: TierId): Tier => ({
    id,
    feeCents: 799 as never,
    payoutCents: 550 as never,
    radiusMeters: 8_000,
    radiusGrowthMetersPerMinute: 1_000,
    maxRadiusMeters: 25_000,
    maxDistanceMeters: 40_000,
    weight: id === 'priority' ? 4 : 1,
    maxWaitSeconds: 86_400,
    promiseMinutes: 180,
    dispatchMode: 'nearest',
  });
  return new Map(TIER_IDS.map((id) => [id, tier(id)]));
}
