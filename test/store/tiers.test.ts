import { expect, test } from 'vitest';
import { TIER_IDS } from '../../src/domain/tier.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { storeOf } from '../harness/store.ts';

const { sql } = await useFreshDatabase();

const add = (id: string) => sql`insert into tiers values (${id}, 999, 700, 5000, 500, 15000, 2, 3600)`;

test('a tier is a row behind those of the contract, whatever was changed last', async () => {
  await add('express');
  await storeOf(sql).setTier('standard', { feeCents: 799 });
  const tiers = await storeOf(sql).loadTiers();
  expect([...tiers.keys()]).toEqual([...TIER_IDS, 'express']);
  // A build of before names no distance.
  expect(tiers.get('express')).toMatchObject({
    feeCents: 999,
    radiusMeters: 5_000,
    weight: 2,
    maxDistanceMeters: 40_000,
  });
  expect(await storeOf(sql).setTier('express', { feeCents: 1_099, maxDistanceMeters: 9_000 })).toBe(true);
  const changed = (await storeOf(sql).loadTiers()).get('express');
  expect(changed).toMatchObject({ feeCents: 1_099, maxDistanceMeters: 9_000 });
});

test.each(['', 'Express', 'next day', '1st', 'x'.repeat(33)])('no tier is called %j', async (id) => {
  await expect(add(id)).rejects.toMatchObject({ constraint_name: 'tiers_id_check' });
});
