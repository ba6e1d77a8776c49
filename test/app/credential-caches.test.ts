import { describe, expect, onTestFinished, test } from 'vitest';
import { followChanges } from '../../src/app/change-feed.ts';
import { openCredentialCaches } from '../../src/app/credential-caches.ts';
import { Fleet } from '../../src/dispatch/fleet.ts';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import { UnknownOutcomes } from '../../src/dispatch/unknown-outcomes.ts';
import { hashSecret, newId, newSecret } from '../../src/domain/ids.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { connect, listenAnew } from '../../src/postgres/connect.ts';
import { Closers } from '../../src/runtime/closers.ts';
import { createLogger } from '../../src/telemetry.ts';
import { openGateway } from '../bus/gateway.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { openLink } from '../harness/link.ts';
import { addStoreRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { TIERS } from '../matcher/brute-force.ts';

const logger = createLogger('silent');
const GUESSES = 2_000;
const database = await useFreshDatabase();

/** Longest wait for a notice here: ten times the service's, as a slow machine may deliver one later than that. */
const NOTICE_MS = 10_000;

/**
 * An API process's credentials behind a change feed, with the number of its look-ups. By the clock at 0 the
 * second for which what is known counts is never over.
 */
async function api(url = database.url, now?: () => number, noticeMs = NOTICE_MS) {
  const sql = connect({ url, applicationName: 'api', max: 4 });
  const closers = new Closers(logger);
  onTestFinished(async () => {
    await closers.closeAll();
    await sql.end({ timeout: 1 });
  });
  let lookUps = 0;
  const real = storeOf(sql, 'api');
  const counted = {
    ...real,
    findKeys(hashes: readonly string[]) {
      lookUps++;
      return real.findKeys(hashes);
    },
    findOrganizationKeys(hashes: readonly string[]) {
      lookUps++;
      return real.findOrganizationKeys(hashes);
    },
    findDriverByToken(hash: string) {
      lookUps++;
      return real.findDriverByToken(hash);
    },
  };
  const { stores, organizations, drivers, trackers, feed } = openCredentialCaches(
    counted,
    () => listenAnew(sql),
    now,
    noticeMs,
  );
  let words = 0;
  const secrets = {
    ...feed,
    heard(word: string) {
      feed.heard(word);
      words++;
    },
  };
  const events = new OrderEvents();
  const nothing = async () => undefined;
  await followChanges({
    database: { sql, processId: 'api' },
    fleet: new Fleet(new Matcher(TIERS), real, events),
    given: { take: () => false },
    redispatch: { driverAvailable: () => undefined, matchOrder: nothing },
    sweep: { run: nothing },
    unknownOutcomes: new UnknownOutcomes(60_000, 10, Date.now, events),
    tiers: { reload: nothing },
    holds: { reload: nothing, refresh: nothing },
    credentials: { stores, organizations, drivers },
    secrets,
    paymentWait: { recheck: nothing },
    events,
    logger,
    closers,
  });
  return { stores, organizations, drivers, trackers, lookUps: () => lookUps, words: () => words };
}

/** The holder, or the code of the refusal. */
const asked = <Holder>(found: Promise<Holder>) => found.catch((error: { code?: string }) => error.code);
const guess = () => hashSecret(newSecret('api_key'));

async function newKey(retailerId: string): Promise<{ id: string; keyHash: string; retailerId: string }> {
  return { id: newId(), keyHash: guess(), retailerId };
}

test('made-up keys and tokens are nobody’s without a look-up, however many there are', async () => {
  await addStoreRow(database.sql);
  const { stores, drivers, lookUps } = await api();
  const answers = await Promise.all(
    Array.from({ length: GUESSES }, (_, n) => asked<unknown>((n % 2 ? stores : drivers).find(guess()))),
  );
  expect(new Set(answers)).toEqual(new Set([null]));
  expect(lookUps()).toBe(0);
});

test('a key is good at once at a process where others guess, whoever wrote it', async () => {
  const { sql } = database;
  const { retailerId } = await addStoreRow(sql);
  const { stores } = await api();
  for (let round = 0; round < 20; round++) {
    const guesses = Promise.all(Array.from({ length: 100 }, () => stores.find(guess())));
    const key = await newKey(retailerId);
    // By a command, or as the version before this one and a person with psql do.
    if (round % 2) await storeOf(sql, 'cli').rotateKey(retailerId, key);
    else await sql`insert into api_keys (id, retailer_id, key_hash) values (${key.id}, ${retailerId}, ${key.keyHash})`;
    expect(await asked(stores.find(key.keyHash))).toMatchObject({ keyId: key.id });
    expect(new Set(await guesses)).toEqual(new Set([null]));
  }
});

test('many keys of one statement are all good at once', async () => {
  const { sql } = database;
  const { stores } = await api();
  const keys: { id: string; keyHash: string; retailerId: string }[] = [];
  for (let n = 0; n < 250; n++) keys.push(await newKey((await addStoreRow(sql)).retailerId));
  await sql`
    insert into api_keys (id, retailer_id, key_hash)
    select * from unnest(${keys.map(({ id }) => id)}::uuid[], ${keys.map((key) => key.retailerId)}::uuid[],
      ${keys.map(({ keyHash }) => keyHash)}::text[])`;
  const found = await Promise.all(keys.map(({ keyHash }) => stores.find(keyHash)));
  expect(found.map((key) => key?.keyId)).toEqual(keys.map(({ id }) => id));
});

test('a rotated key is dropped from memory by the notice, before its second is over', async () => {
  const { sql } = database;
  const { retailerId } = await addStoreRow(sql);
  const { stores, lookUps } = await api(database.url, () => 0);
  const [old, next] = [await newKey(retailerId), await newKey(retailerId)];
  await storeOf(sql, 'cli').rotateKey(retailerId, old);
  expect(await stores.find(old.keyHash)).not.toBeNull();
  await storeOf(sql, 'cli').rotateKey(retailerId, next);
  expect(await stores.find(next.keyHash)).not.toBeNull();
  const before = lookUps();
  expect(await stores.find(old.keyHash)).toBeNull();
  expect(lookUps()).toBe(before);
});

describe('a key in use', () => {
  /** A process that has heard a word since it looked the key up, 600 ms ago. */
  async function hearing(url = database.url) {
    const { sql } = database;
    const { retailerId } = await addStoreRow(sql);
    const key = await newKey(retailerId);
    await storeOf(sql, 'cli').rotateKey(retailerId, key);
    let nowMs = 0;
    const process = await api(url, () => nowMs);
    const { stores, words } = process;
    /** Asks for the key at that time, and waits for the word that it has this process say. */
    async function findAt(ms: number) {
      const before = words();
      nowMs = ms;
      const found = await stores.find(key.keyHash);
      if (found !== null) await expect.poll(words).toBeGreaterThan(before);
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      return found;
    }
    await stores.find(key.keyHash);
    for (const ms of [300, 700, 1_100]) expect(await findAt(ms)).not.toBeNull();
    return { ...process, findAt, retailerId, stopTime: (ms: number) => (nowMs = ms), key };
  }

  test('is not looked up again while words come back', async () => {
    const { findAt, lookUps } = await hearing();
    const before = lookUps();
    for (let ms = 1_400; ms <= 4_100; ms += 300) expect(await findAt(ms)).not.toBeNull();
    expect(lookUps()).toBe(before);
  });

  test('is no use at once after its store is suspended, whoever does it', async () => {
    const { stores, key, retailerId, findAt } = await hearing();
    await database.sql`update retailers set status = 'suspended' where id = ${retailerId}`;
    await expect.poll(() => stores.find(key.keyHash)).toBeNull();
    await database.sql`update retailers set status = 'active', name = 'New name' where id = ${retailerId}`;
    await expect.poll(() => stores.find(key.keyHash)).toMatchObject({ name: 'New name' });
    expect(await findAt(1_400)).not.toBeNull();
  });

  test('is looked up again after listening was interrupted', async () => {
    const { stores, key, stopTime, lookUps } = await hearing();
    const listening = await database.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'api' and query ilike 'listen%'`;
    expect(listening.length).toBeGreaterThan(0);
    const before = lookUps();
    let ms = 1_100;
    const asked = () => {
      ms += 300;
      stopTime(ms);
      return stores.find(key.keyHash);
    };
    await expect.poll(async () => (await asked()) && lookUps()).toBeGreaterThan(before);
  });
});

test('a process that Postgres refused to listen, on a connection that stays open, listens anew', async () => {
  const link = await openLink(database.url);
  onTestFinished(() => link.close());
  const { words, stores } = await api(link.url, undefined, 100);
  const isHeard = async () => {
    const before = words();
    await asked(stores.find(guess()));
    return words() > before;
  };
  link.refusesListen(true);
  await database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'api' and query ilike 'listen%'`;
  await expect.poll(() => link.refused()).toBe(1);
  link.refusesListen(false);
  await expect.poll(isHeard).toBe(true);
});

test('a key at the end of its overlap is nobody’s, and dropped once the upkeep has marked it', async () => {
  const { sql } = database;
  const { retailerId } = await addStoreRow(sql);
  const { stores, lookUps } = await api();
  const [old, next] = [await newKey(retailerId), await newKey(retailerId)];
  await storeOf(sql, 'cli').rotateKey(retailerId, old);
  expect(await storeOf(sql, 'cli').rotateKeyWithOverlap(retailerId, next, 60)).toMatchObject({ kind: 'rotated' });
  for (const key of [old, next]) expect(await stores.find(key.keyHash)).toMatchObject({ keyId: key.id });
  await sql`update api_keys set valid_until = now() where id = ${old.id}`;
  await expect.poll(() => stores.find(old.keyHash), { interval: 20 }).toBeNull();
  await storeOf(sql, 'cli').revokeEndedKeys(10);
  const isUnasked = async () => {
    const before = lookUps();
    return (await stores.find(old.keyHash)) === null && lookUps() === before;
  };
  await expect.poll(isUnasked, { interval: 20 }).toBe(true);
  expect(await stores.find(next.keyHash)).toMatchObject({ keyId: next.id });
});

test('an organization’s key is good at once, follows its stores, and is dropped when it is revoked', async () => {
  const { sql } = database;
  const cli = storeOf(sql, 'cli');
  const [one, other] = [(await addStoreRow(sql)).retailerId, (await addStoreRow(sql)).retailerId];
  const { organizations } = await api(database.url, () => 0);
  const [organizationId, key] = [newId(), { id: newId(), keyHash: guess() }];
  await cli.addOrganization(organizationId, 'Chain');
  expect(await cli.addOrganizationKey(organizationId, key)).toBe(true);
  const stores = async () => (await organizations.find(key.keyHash))?.retailerIds.toSorted();
  expect(await stores()).toEqual([]);
  for (const id of [one, other]) expect(await cli.joinOrganization(organizationId, id)).toBe('joined');
  const soon = { interval: 10 };
  await expect.poll(stores, soon).toEqual([one, other].toSorted());
  expect(await cli.leaveOrganization(organizationId, one)).toBe(true);
  await expect.poll(stores, soon).toEqual([other]);
  await cli.setRetailerStatus(other, 'suspended');
  await expect.poll(stores, soon).toEqual([]);
  expect(await cli.revokeOrganizationKey(organizationId, key.id)).toBe(true);
  await expect.poll(stores, soon).toBeUndefined();
});

test('a new driver’s token is good at once, and so is one that was changed', async () => {
  const { sql } = database;
  const { drivers } = await api(database.url, () => 0);
  const [id, first, second] = [newId(), guess(), guess()];
  const driver = { id, name: 'Ana', phone: '+14155550100', tokenHash: first, tierIds: ['standard'] as const };
  await storeOf(sql, 'cli').createDriver(driver);
  expect(await drivers.find(first)).toEqual({ driverId: id });
  await sql`update drivers set token_hash = ${second} where id = ${id}`;
  expect(await drivers.find(second)).toEqual({ driverId: id });
  await expect.poll(() => drivers.find(first), { interval: 10 }).toBeNull();
});

test('a driver’s tracker is good at once, and costs no look-up before it is made', async () => {
  const { sql } = database;
  const cli = storeOf(sql, 'cli');
  const { trackers } = await api();
  const [id, tracker] = [newId(), guess()];
  await cli.createDriver({ id, name: 'Ana', phone: '+14155550100', tokenHash: guess(), tierIds: ['standard'] });
  expect(await trackers.find(tracker)).toBeNull();
  await cli.setDriverTracker(id, tracker);
  expect(await trackers.find(tracker)).toEqual({ driverId: id });
});

test('where no notices arrive, a new key is good, and no key is called wrong without having been looked up', async () => {
  const gateway = await openGateway(database.url);
  onTestFinished(() => gateway.close());
  const { sql } = database;
  const { retailerId } = await addStoreRow(sql);
  const { stores, lookUps } = await api(gateway.url);
  await gateway.cut();
  expect(await asked(stores.find(guess()))).not.toBeNull();
  const key = await newKey(retailerId);
  await storeOf(sql, 'cli').rotateKey(retailerId, key);
  await gateway.restore();
  const before = lookUps();
  const good = () => asked(stores.find(key.keyHash));
  await expect.poll(good, { interval: 20 }).toMatchObject({ keyId: key.id });
  expect(lookUps()).toBeGreaterThan(before);
});
