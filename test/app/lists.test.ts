import { expect, onTestFinished, test } from 'vitest';
import { apiRoutes } from '../../src/app/routes.ts';
import { parseConfig } from '../../src/config.ts';
import { newId, newSecret } from '../../src/domain/ids.ts';
import { createListTurns, MAX_LISTS_PER_STORE, MAX_WAITING_LISTS_PER_STORE } from '../../src/http/list-turns.ts';
import { storeReader } from '../../src/http/readers.ts';
import { ordersList } from '../../src/http/routes/orders-list.ts';
import { createReadRates } from '../../src/http/store-rate.ts';
import { LIST_STATEMENT_MS } from '../../src/limits.ts';
import { Closers } from '../../src/runtime/closers.ts';
import { openDatabase } from '../../src/runtime/database.ts';
import { openStore } from '../../src/store/store.ts';
import { createLogger } from '../../src/telemetry.ts';
import { anything } from '../harness/all-routes.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addOrder, addStoreRow } from '../harness/orders.ts';
import { gate, letIn, replyOf, startServer } from '../http/support.ts';
import { openTransaction } from '../store/transaction.ts';

/** Far above all that is let in, and few enough to be sent before the first one's time is over. */
const LISTS = 50;

const database = await useFreshDatabase();

/** The list of a store over HTTP, on the connections of a service. */
async function listOf(retailerId: string) {
  const logger = createLogger('silent');
  const closers = new Closers(logger);
  onTestFinished(() => closers.closeAll());
  const opened = await openDatabase(
    parseConfig({ DATABASE_URL: database.url, SANDBOX: '1' }),
    () => {},
    logger,
    closers,
  );
  const { url } = await startServer({
    routes: [
      ordersList({
        stores: letIn(storeReader({ retailerId })),
        reads: createReadRates(0),
        turns: createListTurns(),
        store: openStore(opened),
        matcher: { whyWaiting: () => undefined, driver: () => undefined },
        now: () => 0,
      }),
    ],
  });
  return { opened, list: () => fetch(`${url}/orders?status=returned`) };
}

test('a list that takes over a second is 503 by name, and nothing but lists has waited for it', async () => {
  const { opened, list } = await listOf((await addStoreRow(database.sql)).retailerId);
  const { sql, commit } = await openTransaction(database);
  await sql`lock table orders in access exclusive mode`;
  const sinceMs = performance.now();
  const answer = await list();
  expect(performance.now() - sinceMs).toBeGreaterThan(LIST_STATEMENT_MS / 2);
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await answer.json()).toMatchObject({
    message: expect.stringMatching(/^The list took longer than 1 s to read\./),
    error: { code: 'unavailable', retryable: true },
  });
  const [row] = await opened.sql`
    select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'sameday lists'`;
  expect(row?.n).toBe(1);
  await commit();
  await expect.poll(async () => (await list()).status).toBe(200);
});

test('many lists of one store at once take two connections and get 429, and it lists again after that', async () => {
  const store = await addStoreRow(database.sql);
  await addOrder(database.sql, store);
  const { opened, list } = await listOf(store.retailerId);
  const { sql, commit } = await openTransaction(database);
  await sql`lock table orders in access exclusive mode`;
  const answers = Promise.all(Array.from({ length: LISTS }, list));
  const atWork = () => opened.sql`
    select pid from pg_stat_activity
    where datname = current_database() and application_name = 'sameday lists' and state = 'active'`;
  await expect.poll(async () => (await atWork()).length, { interval: 10 }).toBe(MAX_LISTS_PER_STORE);
  await commit();
  const statuses = (await answers).map(({ status }) => status);
  const allowed = MAX_LISTS_PER_STORE + MAX_WAITING_LISTS_PER_STORE;
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(LISTS - 2 * allowed);
  // Whether those that were let in came to their end depends on how long they waited.
  expect(statuses.filter((status) => ![200, 429, 503].includes(status))).toEqual([]);
  await expect.poll(async () => (await list()).status).toBe(200);
});

/** What a service hands to its routes: what is given, and anything else. */
const partsWith = (given: object) =>
  new Proxy(given, {
    get: (parts, name) => (parts as Record<PropertyKey, unknown>)[name] ?? (anything as never)[name],
  });

test.each([
  [
    'lists of orders and of deliveries of one store',
    newSecret('api_key', 'test'),
    ['/orders', '/webhooks/:id/deliveries'],
  ],
  ['lists of orders and events of a chain', newSecret('organization_key', 'test'), ['/orders', '/events']],
] as const)('%s take turns together', async (_what, key, patterns) => {
  const ended = gate();
  let reading = 0;
  const read = async () => {
    reading++;
    await ended.opened;
    return { orders: [], deliveries: [], events: [], next: null };
  };
  const retailerId = newId();
  const stores = { find: async () => ({ retailerId }) };
  const organizations = { find: async () => ({ organizationId: retailerId, retailerIds: [retailerId] }) };
  const parts = partsWith({
    config: partsWith({ readRate: 0 }),
    credentials: partsWith({ stores, organizations }),
    store: { listStoreOrders: read, listOrdersOfStores: read, listDeliveriesOf: read, readEventsOfStores: read },
  });
  const routes = apiRoutes(parts as never);
  const headers = { authorization: `Bearer ${key}` };
  const lists = patterns.flatMap((pattern) => [1, 2, 3].map(() => replyOf(routes, pattern, newId(), headers)));
  await new Promise(setImmediate);
  expect(reading).toBe(MAX_LISTS_PER_STORE);
  ended.open();
  for (const { status } of await Promise.all(lists)) expect(status).toBe(200);
});
