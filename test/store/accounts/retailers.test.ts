import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { hashSecret, newId, newSecret } from '../../../src/domain/ids.ts';
import { CLOCK_ROUND_TRIP_MS } from '../../../src/limits.ts';
import { CLOCK_SYNC_MS, createDatabaseClock } from '../../../src/postgres/clock.ts';
import type { NewKey, NewRetailer } from '../../../src/store/accounts/retailers.ts';
import { createLogger } from '../../../src/telemetry.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addStoreRow, PICKUP } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { noticesDuring } from '../transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;
afterEach(() => void vi.useRealTimers());

const newKey = (): NewKey => ({ id: newId(), keyHash: hashSecret(newSecret('api_key')) });
const newStore = (): NewRetailer => ({
  id: newId(),
  name: 'Corner Market',
  address: 'One Test Square',
  point: PICKUP,
  stripeCustomerId: null,
  stripePaymentMethodId: null,
});
/** A store with a key whose hash is known. */
async function storeWithKey(): Promise<{ retailerId: string; key: NewKey }> {
  const { retailerId } = await addStoreRow(sql);
  const key = newKey();
  await storeOf(sql).rotateKey(retailerId, key);
  return { retailerId, key };
}

test('a key finds its own active store only', async () => {
  const { retailerId, key } = await storeWithKey();
  const found = await storeOf(sql).findKey(key.keyHash);
  expect(found).toEqual({
    keyId: key.id,
    keyEnds: false,
    retailerId,
    name: 'Corner Market',
    address: 'One Test Square',
    point: PICKUP,
    ordersPerSecond: null,
  });
  expect(found && (await storeOf(sql).isKeyGood(found))).toBe(true);
  expect(await storeOf(sql).findKey(hashSecret('another'))).toBeNull();
});

test('a suspension holds from its return until the store is activated', async () => {
  const { retailerId, key } = await storeWithKey();
  const found = await storeOf(sql).findKey(key.keyHash);
  expect(await storeOf(sql).setRetailerStatus(retailerId, 'suspended')).toBe(true);
  expect([await storeOf(sql).findKey(key.keyHash), found && (await storeOf(sql).isKeyGood(found))]).toEqual([
    null,
    false,
  ]);
  expect(await storeOf(sql).setRetailerStatus(retailerId, 'active')).toBe(true);
  expect(await storeOf(sql).findKey(key.keyHash)).toEqual(found);
  expect(await storeOf(sql).setRetailerStatus(newId(), 'suspended')).toBe(false);
});

test('the next read of a key has its store’s bound of orders a second; null is the bound of all stores', async () => {
  const { retailerId, key } = await storeWithKey();
  for (const perSecond of [5, 0, null]) {
    expect(await storeOf(sql).setOrdersPerSecond(retailerId, perSecond)).toBe(true);
    expect((await storeOf(sql).findKey(key.keyHash))?.ordersPerSecond).toBe(perSecond);
  }
  await expect(storeOf(sql).setOrdersPerSecond(retailerId, -1)).rejects.toMatchObject({ code: '23514' });
  expect(await storeOf(sql).setOrdersPerSecond(newId(), 5)).toBe(false);
});

test('a rotated key is dead, the new one works, and other stores keep theirs', async () => {
  const [one, other] = [await storeWithKey(), await storeWithKey()];
  const found = await storeOf(sql).findKey(one.key.keyHash);
  const next = newKey();
  expect(await storeOf(sql).rotateKey(one.retailerId, next)).toBe(true);
  expect([await storeOf(sql).findKey(one.key.keyHash), found && (await storeOf(sql).isKeyGood(found))]).toEqual([
    null,
    false,
  ]);
  expect((await storeOf(sql).findKey(next.keyHash))?.retailerId).toBe(one.retailerId);
  expect((await storeOf(sql).findKey(other.key.keyHash))?.retailerId).toBe(other.retailerId);
  expect(await storeOf(sql).rotateKey(newId(), newKey())).toBe(false);
});

async function application(): Promise<string> {
  const id = newId();
  const asked = { id, name: 'Corner Market', address: 'One Test Square', contactEmail: 'owner@example.com' };
  await storeOf(sql).applyRetailer(asked);
  expect(await storeOf(sql).findApplication(id)).toEqual({ ...asked, status: 'applied' });
  return id;
}

test('an approval creates store and key and is recorded; of concurrent approvals one counts', async () => {
  const id = await application();
  const tries = Array.from({ length: 4 }, () => ({ store: newStore(), key: newKey() }));
  const results = await Promise.all(tries.map(({ store, key }) => storeOf(sql).approveApplication(id, store, key)));
  expect(results.filter(Boolean)).toHaveLength(1);
  const opened = await Promise.all(tries.map(({ key }) => storeOf(sql).findKey(key.keyHash)));
  expect(opened.map((key) => key !== null)).toEqual(results);
  const ids = tries.map(({ store }) => store.id);
  expect(await sql`select from retailers where id = any(${ids}::uuid[])`).toHaveLength(1);
  expect((await storeOf(sql).findApplication(id))?.status).toBe('approved');
  expect(await storeOf(sql).rejectApplication(id, 'too late')).toBe(false);
});

test('a rejected application stays rejected and creates no store', async () => {
  const id = await application();
  expect(await storeOf(sql).rejectApplication(id, 'out of area')).toBe(true);
  const store = newStore();
  expect(await storeOf(sql).approveApplication(id, store, newKey())).toBe(false);
  expect(await sql`select from retailers where id = ${store.id}`).toHaveLength(0);
  expect((await storeOf(sql).findApplication(id))?.status).toBe('rejected');
  expect(await storeOf(sql).rejectApplication(newId(), '')).toBe(false);
  expect(await storeOf(sql).findApplication(newId())).toBeNull();
});

test('a card is set for an existing store only', async () => {
  const { retailerId } = await storeWithKey();
  expect(await storeOf(sql).setCard(retailerId, 'cus_9', 'pm_9')).toBe(true);
  expect(await storeOf(sql).setCard(newId(), 'cus_9', 'pm_9')).toBe(false);
});

test('the tiers are the three of the contract, with the prices and distances of the migrations', async () => {
  const tiers = await storeOf(sql).loadTiers();
  expect([...tiers.keys()].sort()).toEqual(['priority', 'scheduled', 'standard']);
  expect(tiers.get('standard')).toEqual({
    id: 'standard',
    feeCents: 799,
    payoutCents: 550,
    radiusMeters: 8_000,
    radiusGrowthMetersPerMinute: 1_000,
    maxRadiusMeters: 25_000,
    maxDistanceMeters: 40_000,
    weight: 1,
    maxWaitSeconds: 86_400,
    promiseMinutes: 180,
    dispatchMode: 'planned',
  });
  expect(tiers.get('priority')).toMatchObject({ weight: 4, maxDistanceMeters: 25_000, promiseMinutes: 60 });
  expect(tiers.get('scheduled')).toMatchObject({ maxDistanceMeters: 60_000, promiseMinutes: 480 });
});

test('a change of a tier keeps its other columns and sends a notice, and a senseless one is refused', async () => {
  const before = (await storeOf(sql).loadTiers()).get('priority');
  const notices = await noticesDuring(database, async () => {
    expect(await storeOf(sql, 'me').setTier('priority', { feeCents: 1_500, weight: 2.5 })).toBe(true);
  });
  expect(notices).toEqual(['me:tier:priority']);
  expect((await storeOf(sql).loadTiers()).get('priority')).toEqual({ ...before, feeCents: 1_500, weight: 2.5 });
  await expect(storeOf(sql, 'me').setTier('priority', { maxRadiusMeters: 10 })).rejects.toMatchObject({
    code: '23514',
  });
  expect(await storeOf(sql, 'me').setTier('overnight' as never, { feeCents: 100 })).toBe(false);
});

test('the clock is the database’s, whatever this machine’s is, and advances between two measurements', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2001-01-01') });
  const clock = await createDatabaseClock(sql, createLogger('silent'));
  onTestFinished(() => clock.close());
  const nowMs = clock.now();
  const [row] = await sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`;
  expect(Math.abs(row?.ms - nowMs)).toBeLessThan(60_000);
  expect(Number.isInteger(nowMs)).toBe(true);
  await expect.poll(() => clock.now()).toBeGreaterThan(nowMs);
});

test('the clock is measured again, also after a failed measurement, until it is closed', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  let aheadMs = 0;
  let looks = 0;
  let broken = false;
  const sql = async () => {
    looks++;
    if (broken) throw new Error('no database');
    return [{ ms: performance.now() + aheadMs }];
  };
  const clock = await createDatabaseClock(sql as never, createLogger('silent'));
  const ahead = () => clock.now() - performance.now();
  expect(ahead()).toBeCloseTo(0, -2);
  aheadMs = 3_600_000;
  await vi.advanceTimersByTimeAsync(CLOCK_SYNC_MS);
  expect(ahead()).toBeCloseTo(3_600_000, -2);
  broken = true;
  await vi.advanceTimersByTimeAsync(CLOCK_SYNC_MS);
  expect(ahead()).toBeCloseTo(3_600_000, -2);
  clock.close();
  await vi.advanceTimersByTimeAsync(3 * CLOCK_SYNC_MS);
  expect(looks).toBe(3);
});

test('a measurement during which the process was suspended is left out', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  let standsStillMs = 0;
  const sql = async () => {
    const ms = performance.now();
    vi.advanceTimersByTime(standsStillMs);
    return [{ ms }];
  };
  const clock = await createDatabaseClock(sql as never, createLogger('silent'));
  onTestFinished(() => clock.close());
  standsStillMs = CLOCK_ROUND_TRIP_MS + 1;
  await vi.advanceTimersByTimeAsync(CLOCK_SYNC_MS);
  standsStillMs = 0;
  expect(clock.now()).toBe(Math.round(performance.now()));
});

test('a change of a store sends a notice of it, and one of an unknown store none', async () => {
  const { retailerId } = await addStoreRow(sql);
  const store = storeOf(sql, 'me');
  const change = async (id: string) => [
    await store.setRetailerStatus(id, 'suspended'),
    await store.setRetailerStatus(id, 'active'),
    await store.setOrdersPerSecond(id, 7),
    await store.setCard(id, null, null),
  ];
  const notices = await noticesDuring(database, async () => {
    expect(await change(retailerId)).toEqual(Array(4).fill(true));
    expect((await change(newId())).filter(Boolean)).toEqual([]);
  });
  const own = `me:retailer:${retailerId}`;
  expect(notices.filter((notice) => notice === own)).toHaveLength(4);
  // The table tells of what a process keeps of a store, also where a person with psql changes it.
  expect(notices.filter((notice) => notice !== own)).toEqual(Array(3).fill(`table:retailer:${retailerId}`));
});
