import { expect, test } from 'vitest';
import { LoadedTiers } from '../../src/dispatch/loaded-tiers.ts';
import type { Tier, Tiers } from '../../src/domain/tier.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { TIERS } from '../matcher/brute-force.ts';

const standard = TIERS.get('standard') as Tier;
const table = (maxWaitSeconds: number): Tiers => new Map([['standard', { ...standard, maxWaitSeconds }]]);

async function loaded(maxWaitSeconds: number, most?: number): Promise<Tier> {
  const tiers = new LoadedTiers({ loadTiers: async () => table(maxWaitSeconds) }, new Matcher(TIERS), most);
  await tiers.reload();
  return tiers.get('standard');
}

test('the lesser of the tier’s longest wait and the process’s applies', async () => {
  expect((await loaded(86_400, 600)).maxWaitSeconds).toBe(600);
  expect((await loaded(60, 600)).maxWaitSeconds).toBe(60);
  expect(await loaded(86_400)).toEqual({ ...standard, maxWaitSeconds: 86_400 });
});
