import { expect, test } from 'vitest';
import { FIRST_ID, hashSecret, newId, newSecret } from '../../../src/domain/ids.ts';
import { newPushKeys } from '../../../src/driver-app/push-sender.ts';
import { MAX_PUSH_SUBSCRIPTIONS } from '../../../src/store/drivers/pushes.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { noticesDuring, openTransaction, untilBlocked } from '../transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;

const store = storeOf(sql, 'me');
const hash = (kind: 'tracker' | 'sign_in_code' | 'driver_token') => hashSecret(newSecret(kind));
const phone = (name: string) => ({ endpoint: `https://push.example.com/${name}`, p256dh: 'B', auth: 'a' });
const endpointsOf = async (driverId: string) =>
  ((await store.findPushSubscriptions([driverId])).get(driverId) ?? []).map(({ endpoint }) => endpoint);

test('a driver has one tracker, of which processes are told, and none once it is taken away', async () => {
  const driverId = await addDriverRow(sql);
  const [first, second] = [hash('tracker'), hash('tracker')];
  const notices = await noticesDuring(database, () => store.setDriverTracker(driverId, first));
  expect(notices).toEqual([`table:tracker:${driverId}`]);
  expect(await store.findDriverByTracker(first)).toEqual({ driverId });
  expect(await store.findDriverByToken(first)).toBeNull();
  expect(await store.listSecretsOf('tracker', [driverId, newId()])).toEqual([
    { id: driverId, hash: first, isRevoked: false },
  ]);
  expect(await store.listSecrets('tracker', FIRST_ID, 10)).toContainEqual({
    id: driverId,
    hash: first.slice(0, 16),
    isRevoked: false,
  });
  expect(await store.setDriverTracker(driverId, second)).toBe(true);
  expect(await store.findDriverByTracker(first)).toBeNull();
  expect(await store.findDriverByTracker(second)).toEqual({ driverId });
  expect(await store.setDriverTracker(driverId, null)).toBe(true);
  expect(await store.findDriverByTracker(second)).toBeNull();
  expect(await store.setDriverTracker(newId(), first)).toBe(false);
});

test('a driver who is not active any more has no tracker and no sign-in link', async () => {
  const driverId = await addDriverRow(sql);
  const [tracker, code] = [hash('tracker'), hash('sign_in_code')];
  await store.setDriverTracker(driverId, tracker);
  await store.keepSignInCode(driverId, code, 60);
  await store.deactivateDriver(driverId);
  expect(await store.findDriverByTracker(tracker)).toBeNull();
  expect(await store.setDriverTracker(driverId, hash('tracker'))).toBe(false);
  expect(await store.exchangeSignInCode(code, hash('driver_token'))).toBeNull();
  expect(await store.keepSignInCode(driverId, code, 60)).toBeNull();
  expect(await store.keepSignInCode(newId(), code, 60)).toBeNull();
});

test('a sign-in code is exchanged once: the token before is dead then, and not sooner', async () => {
  const driverId = await addDriverRow(sql);
  const [row] = await sql`select token_hash from drivers where id = ${driverId}`;
  const [code, token] = [hash('sign_in_code'), hash('driver_token')];
  const kept = await store.keepSignInCode(driverId, code, 60);
  expect(kept?.expiresAt.getTime()).toBeGreaterThan(Date.now() + 50_000);
  await store.addPushSubscription(driverId, phone('old'));
  expect(await store.findDriverByToken(row?.token_hash)).toEqual({ driverId });

  const notices = await noticesDuring(database, () => store.exchangeSignInCode(code, token));
  expect(notices.toSorted()).toEqual([`me:driver:${driverId}`, `table:token:${driverId}`]);
  expect(await store.findDriverByToken(token)).toEqual({ driverId });
  expect(await store.findDriverByToken(row?.token_hash)).toBeNull();
  expect(await endpointsOf(driverId)).toEqual([]);

  // The same phone whose reply was lost, and then somebody else with the same link.
  await store.addPushSubscription(driverId, phone('new'));
  expect(await noticesDuring(database, () => store.exchangeSignInCode(code, token))).toEqual([]);
  expect(await store.exchangeSignInCode(code, token)).toEqual({ driverId });
  expect(await endpointsOf(driverId)).toEqual([phone('new').endpoint]);
  expect(await store.exchangeSignInCode(code, hash('driver_token'))).toBeNull();
  expect(await store.findDriverByToken(token)).toEqual({ driverId });
});

test('of many who exchange a code at once one gets the driver', async () => {
  const driverId = await addDriverRow(sql);
  const code = hash('sign_in_code');
  await store.keepSignInCode(driverId, code, 60);
  const tokens = Array.from({ length: 8 }, () => hash('driver_token'));
  const outcomes = await Promise.all(tokens.map((token) => store.exchangeSignInCode(code, token)));
  const winners = tokens.filter((_, index) => outcomes[index]);
  expect(winners).toHaveLength(1);
  expect(await store.findDriverByToken(winners[0] ?? '')).toEqual({ driverId });
});

test('a sign-in code that is over its time, unknown, or replaced by a newer one is nobody’s', async () => {
  const driverId = await addDriverRow(sql);
  const [first, second, old] = [hash('sign_in_code'), hash('sign_in_code'), hash('sign_in_code')];
  const token = hash('driver_token');
  await store.keepSignInCode(driverId, first, 60);
  await store.keepSignInCode(driverId, second, 60);
  expect(await store.exchangeSignInCode(first, token)).toBeNull();
  expect(await store.exchangeSignInCode(hash('sign_in_code'), token)).toBeNull();
  expect(await store.exchangeSignInCode(second, token)).toEqual({ driverId });
  await store.keepSignInCode(driverId, old, 0);
  expect(await store.exchangeSignInCode(old, hash('driver_token'))).toBeNull();
});

test('all processes that start at once take the same keys for pushes, for good', async () => {
  const made = Array.from({ length: 6 }, newPushKeys);
  const kept = await Promise.all(made.map((keys) => store.keepPushKeys(keys)));
  expect(new Set(kept.map(({ publicKey }) => publicKey)).size).toBe(1);
  expect(made).toContainEqual(kept[0]);
  expect(await store.keepPushKeys(newPushKeys())).toEqual(kept[0]);
});

test('a driver is rung on so many phones and no more, however many are added at once', async () => {
  const driverId = await addDriverRow(sql);
  const phones = Array.from({ length: 20 }, (_, index) => phone(`at-once-${index}`));
  await Promise.all(phones.map((each) => store.addPushSubscription(driverId, each)));
  expect(await endpointsOf(driverId)).toHaveLength(MAX_PUSH_SUBSCRIPTIONS);
});

test('a phone that is added while another one is being added counts that one', async () => {
  const driverId = await addDriverRow(sql);
  const names = Array.from({ length: MAX_PUSH_SUBSCRIPTIONS - 1 }, (_, index) => `before-${index}`);
  for (const name of names) await store.addPushSubscription(driverId, phone(name));
  const theirs = await openTransaction(database);
  await storeOf(theirs.sql, 'other').addPushSubscription(driverId, phone('theirs'));
  const mine = store.addPushSubscription(driverId, phone('mine'));
  await untilBlocked(database);
  await theirs.commit();
  await mine;
  const newest = [...names.slice(1), 'theirs', 'mine'].map((name) => phone(name).endpoint);
  expect((await endpointsOf(driverId)).toSorted()).toEqual(newest.toSorted());
});

test('a driver is rung on their newest phones, and a phone for its last driver alone', async () => {
  const [one, other] = [await addDriverRow(sql), await addDriverRow(sql)];
  const names = Array.from({ length: MAX_PUSH_SUBSCRIPTIONS + 2 }, (_, index) => `of-one-${index}`);
  for (const name of names) await store.addPushSubscription(one, phone(name));
  const newest = names.slice(-MAX_PUSH_SUBSCRIPTIONS).map((name) => phone(name).endpoint);
  expect((await endpointsOf(one)).toSorted()).toEqual(newest.toSorted());
  // The same phone again takes no other's place.
  await store.addPushSubscription(one, phone(names.at(-1) ?? ''));
  expect(await endpointsOf(one)).toHaveLength(MAX_PUSH_SUBSCRIPTIONS);

  await store.addPushSubscription(other, { ...phone(names.at(-1) ?? ''), auth: 'b' });
  expect(await store.findPushSubscriptions([one, other])).toEqual(
    new Map([
      [one, expect.not.arrayContaining([expect.objectContaining(phone(names.at(-1) ?? ''))])],
      [other, [{ ...phone(names.at(-1) ?? ''), auth: 'b' }]],
    ]),
  );
  await store.removePushSubscriptions(one, phone(names.at(-1) ?? '').endpoint);
  expect(await endpointsOf(other)).toHaveLength(1);
  await store.removePushSubscriptions(one, null);
  expect(await endpointsOf(one)).toEqual([]);
  await store.forgetPushEndpoint(phone(names.at(-1) ?? '').endpoint);
  expect(await endpointsOf(other)).toEqual([]);
});

test('a driver who is not active any more is not rung', async () => {
  const driverId = await addDriverRow(sql);
  await store.addPushSubscription(driverId, phone('left'));
  await store.deactivateDriver(driverId);
  expect(await endpointsOf(driverId)).toEqual([]);
});
