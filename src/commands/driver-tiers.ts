import { CommandError, type Context } from '../cli/context.ts';
import { knownTierIds } from '../cli/parts.ts';
import type { TierId } from '../domain/tier.ts';

/** Reads the value of `--tiers`; every tier if there is none. */
export async function readTiers(context: Context, list: string | undefined): Promise<TierId[]> {
  const all = await knownTierIds(context);
  if (list === undefined) return all;
  const tierIds = [...new Set(list.split(',').map((tier) => tier.trim()))];
  if (!tierIds.every((id) => all.includes(id))) throw new CommandError(`--tiers takes some of ${all.join(',')}.`);
  return tierIds;
}
