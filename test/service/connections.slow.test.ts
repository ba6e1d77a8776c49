import { expect, onTestFinished, test } from 'vitest';
import { newId, newSecret } from '../../src/domain/ids.ts';
import {
  DB_CONNECTIONS,
  LIST_DB_CONNECTIONS,
  MAX_COMMITS_IN_FLIGHT,
  PROCESS_DB_CONNECTIONS,
  QUEUE_DB_CONNECTIONS,
} from '../../src/limits.ts';
import { connect } from '../../src/postgres/connect.ts';
import { QUEUES } from '../../src/store/outbox-rows.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { freshRedis, hasRedis } from '../harness/redis.ts';
import { type Environment, newDataDir } from '../harness/service.ts';
import { type ServiceHere, startServiceHere } from '../harness/service-here.ts';
import { addFreeDriver, addStore, ask, type Driver, openSocket, place, type Store } from './clients.ts';

/** The connections of a process with Redis, by their names; the one that listens has the name of its pool. */
const WITH_REDIS = {
  sameday: DB_CONNECTIONS + 1,
  'sameday commits': MAX_COMMITS_IN_FLIGHT,
  'sameday lists': LIST_DB_CONNECTIONS,
  'sameday probe': 1,
  'sameday-api-lock': 1,
};
const WITHOUT_REDIS = { ...WITH_REDIS, 'sameday-queues': QUEUE_DB_CONNECTIONS };

const sumOf = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0);

test.skipIf(!hasRedis())('with Redis a process opens all connections of its pools, and no other', async () => {
  const redis = await freshRedis();
  onTestFinished(async () => redis?.stop());
  expect(sumOf(WITH_REDIS)).toBe(PROCESS_DB_CONNECTIONS);
  expect(await mostOpened({ REDIS_URL: redis?.url ?? '' }, WITH_REDIS)).toEqual(WITH_REDIS);
});

test('without Redis a process opens those of its queues as well', async () => {
  expect(sumOf(WITHOUT_REDIS)).toBe(PROCESS_DB_CONNECTIONS + QUEUE_DB_CONNECTIONS);
  expect(await mostOpened({}, WITHOUT_REDIS)).toEqual(WITHOUT_REDIS);
});

/** The most connections seen at once, by what they are for, while every pool has more to do than connections for it. */
async function mostOpened(env: Environment, expected: Readonly<Record<string, number>>): Promise<object> {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const { dataDir, remove } = newDataDir();
  onTestFinished(remove);
  const service = await startServiceHere({ ...env, DATABASE_URL: database.url, DATA_DIR: dataDir });
  onTestFinished(() => service.stop());
  // Two of a store's lists are read at once.
  const stores = await Promise.all(Array.from({ length: LIST_DB_CONNECTIONS }, () => addStore(database.sql)));
  const [{ point }] = stores as [Store];
  const driver = await addFreeDriver(service, database.sql, point);
  const most: Record<string, number> = {};
  const look = async () => {
    for (const [name, count] of await connectionsOf(database)) most[name] = Math.max(most[name] ?? 0, count);
    return most;
  };
  const release = await holdTables(database);
  let isFull = false;
  const bursts = async () => {
    do await burst(service, stores, driver);
    while (!isFull);
    return true;
  };
  const ended = bursts();
  await expect.poll(look, { interval: 20 }).toMatchObject(expected);
  isFull = true;
  await release();
  while (!(await Promise.race([ended, look().then(() => false)])));
  return look();
}

/** The connections of the service, by what they are for. */
async function connectionsOf({ sql }: FreshDatabase): Promise<Map<string, number>> {
  const rows = await sql<{ name: string }[]>`
    select application_name as name from pg_stat_activity where datname = current_database()
      and backend_type = 'client backend' and application_name <> all('{test,holder}')`;
  const counts = new Map<string, number>();
  for (const row of rows) {
    // BullMQ names those on which its workers listen after their queues; ours end with the id of their process.
    const name = QUEUES.some((queue) => queue === row.name) ? 'sameday-queues' : row.name.replace(/ [0-9a-f]{12}$/, '');
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  // One that was late leaves a connection, which the server may show for a moment.
  if (counts.has('sameday probe')) counts.set('sameday probe', 1);
  return counts;
}

/** Keeps statements about orders and jobs waiting, and with them their connections, until it is called back. */
async function holdTables({ url }: FreshDatabase): Promise<() => Promise<void>> {
  const holder = connect({ url, applicationName: 'holder', max: 1, statementTimeoutMs: 0 });
  onTestFinished(() => holder.end({ timeout: 1 }));
  const queues = await holder`
    select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'bullmq'`;
  const tables = ['orders', ...queues.map(({ name }) => String(name))].join(', ');
  await holder.unsafe(`begin; lock table ${tables} in access exclusive mode`).simple();
  return async () => void (await holder.unsafe('commit').simple());
}

/** Gives every pool more to do than it has connections. Some of it waits for longer than it may. */
async function burst(service: ServiceHere, stores: readonly Store[], driver: Driver): Promise<void> {
  const id = newId();
  const reads = stores.flatMap((store) => Array.from({ length: DB_CONNECTIONS }, () => store));
  await Promise.allSettled([
    ...reads.map(({ apiKey }) => ask(service, `/orders/${id}`, { key: apiKey })),
    ...reads.map((store) => place(service, store)),
    ...stores.flatMap(({ apiKey }) => [1, 2].map((limit) => ask(service, `/orders?limit=${limit}`, { key: apiKey }))),
    ...stores.map(() => openSocket(service, `/track/${newSecret('api_key')}/live`)),
    driver.pickUp(id),
  ]);
}
