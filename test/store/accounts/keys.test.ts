import { expect, test } from 'vitest';
import { hashSecret, newId, newSecret } from '../../../src/domain/ids.ts';
import { MAX_OVERLAPPING_KEYS } from '../../../src/limits.ts';
import { ENDED_KEYS_ROWS } from '../../../src/queues/sweeper.ts';
import type { NewKey } from '../../../src/store/accounts/retailers.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addStoreRow, draftOrder } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';

const DAY = 86_400;
const { sql } = await useFreshDatabase();

const newKey = (): NewKey => ({ id: newId(), keyHash: hashSecret(newSecret('api_key')) });

async function storeWithKey() {
  const { retailerId } = await addStoreRow(sql);
  const key = newKey();
  await storeOf(sql).rotateKey(retailerId, key);
  return { retailerId, key };
}

const isGood = async ({ keyHash }: NewKey) => (await storeOf(sql).findKey(keyHash)) !== null;
const end = ({ id }: NewKey) => sql`update api_keys set valid_until = now() where id = ${id}`;

/** What the insert of an order says of a key. */
async function placing(retailerId: string, keyId: string) {
  const order = await draftOrder(sql, { retailerId, keyId });
  const created = await storeOf(sql).insertOrders([order]);
  return created.has(order.id) ? 'created' : (await storeOf(sql).explainRefused([order])).get(order.id);
}

test('a key that was rotated with an overlap goes on until its end, also in the commit of an order', async () => {
  const { retailerId, key } = await storeWithKey();
  const next = newKey();
  const found = await storeOf(sql).findKey(key.keyHash);
  const outcome = await storeOf(sql).rotateKeyWithOverlap(retailerId, next, DAY);
  expect(outcome).toMatchObject({ kind: 'rotated', oldKeysUntil: expect.any(Date) });
  expect([await isGood(key), await isGood(next), await placing(retailerId, key.id)]).toEqual([true, true, 'created']);
  const shown = await storeOf(sql).showRetailer(retailerId);
  expect(shown?.keys).toMatchObject([
    {},
    { key_id: key.id, valid_until: expect.any(String), revoked_at: null },
    { key_id: next.id, valid_until: null, revoked_at: null },
  ]);
  await end(key);
  expect([await isGood(key), await isGood(next)]).toEqual([false, true]);
  expect(found && (await storeOf(sql).isKeyGood(found))).toBe(false);
  expect([await placing(retailerId, key.id), await placing(retailerId, next.id)]).toEqual(['key_dead', 'created']);
});

test('an end is never put off, and a rotation without an overlap ends every key at once', async () => {
  const { retailerId, key } = await storeWithKey();
  const [second, third, last] = [newKey(), newKey(), newKey()];
  const until = async (overlap: number, next: NewKey) => {
    const outcome = await storeOf(sql).rotateKeyWithOverlap(retailerId, next, overlap);
    if (outcome.kind !== 'rotated') throw new Error(outcome.kind);
    const [row] = await sql`select valid_until from api_keys where id = ${key.id}`;
    return row?.valid_until as Date;
  };
  const first = await until(60, second);
  expect(await until(DAY, third)).toEqual(first);
  await storeOf(sql).rotateKey(retailerId, last);
  expect(await Promise.all([key, second, third, last].map(isGood))).toEqual([false, false, false, true]);
});

test('a store has at most so many overlapping keys; one more rotation changes nothing', async () => {
  const { retailerId, key } = await storeWithKey();
  const keys = [key];
  for (let more = 0; more < MAX_OVERLAPPING_KEYS; more++) {
    const next = newKey();
    keys.push(next);
    expect(await storeOf(sql).rotateKeyWithOverlap(retailerId, next, DAY)).toMatchObject({ kind: 'rotated' });
  }
  const refused = newKey();
  expect(await storeOf(sql).rotateKeyWithOverlap(retailerId, refused, DAY)).toEqual({ kind: 'too_many' });
  expect(await Promise.all([...keys, refused].map(isGood))).toEqual([...keys.map(() => true), false]);
  await end(key);
  expect(await storeOf(sql).rotateKeyWithOverlap(retailerId, refused, DAY)).toMatchObject({ kind: 'rotated' });
  expect(await storeOf(sql).rotateKeyWithOverlap(newId(), newKey(), DAY)).toEqual({ kind: 'unknown' });
});

test('the upkeep marks ended keys as revoked, at their end, and no other', async () => {
  const { retailerId, key } = await storeWithKey();
  const next = newKey();
  await storeOf(sql).rotateKeyWithOverlap(retailerId, next, DAY);
  await storeOf(sql).revokeEndedKeys(ENDED_KEYS_ROWS);
  expect(await isGood(key)).toBe(true);
  await end(key);
  expect(await storeOf(sql).revokeEndedKeys(ENDED_KEYS_ROWS)).toBe(1);
  const rows = await sql`
    select id, revoked_at = valid_until as at_end from api_keys where id in (${key.id}, ${next.id}) order by created_at`;
  expect(rows.map(({ at_end }) => at_end)).toEqual([true, null]);
});

test('no list of good keys has one that is at its end', async () => {
  const { retailerId, key } = await storeWithKey();
  await storeOf(sql).rotateKeyWithOverlap(retailerId, newKey(), DAY);
  const listed = async () => {
    const all = await storeOf(sql).listSecrets('key', '00000000-0000-0000-0000-000000000000', 10_000);
    const [of] = (await storeOf(sql).listSecretsOf('key', [retailerId])).filter(({ id }) => id === key.id);
    return [all.some(({ id }) => id === key.id), of?.isRevoked];
  };
  expect(await listed()).toEqual([true, false]);
  await end(key);
  expect(await listed()).toEqual([false, true]);
});
