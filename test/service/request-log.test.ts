import { afterAll, beforeAll, expect, it } from 'vitest';
import { newSecret } from '../../src/domain/ids.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { newDataDir, startBuiltService } from '../harness/service.ts';
import { addDriver, addStore, ask, openPhone, place } from './clients.ts';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database?.drop());

type Line = { level: number; request?: string; route?: string; status?: number; retailer?: string; driver?: string };

/** What a process wrote of its requests, from its start to its end. */
async function linesOf(env: Record<string, string>, act: (url: { url: string }) => Promise<void>): Promise<Line[]> {
  const data = newDataDir();
  const service = await startBuiltService({ DATABASE_URL: database.url, DATA_DIR: data.dataDir, ...env });
  try {
    await act(service);
  } finally {
    await service.stop();
    data.remove();
  }
  const lines = service.output().split('\n');
  return lines.filter((line) => line.startsWith('{"level"')).map((line) => JSON.parse(line) as Line);
}

it('each request is found by its id, with its store or driver, and a stop loses none', async () => {
  const store = await addStore(database.sql);
  const ids: (string | null)[] = [];
  const secrets: string[] = [store.apiKey];
  let driverId = '';
  const lines = await linesOf({ REQUEST_LOG: 'all' }, async (service) => {
    const placed = await place(service, store);
    const { tracking_token } = placed.body.order;
    const driver = await addDriver(service, database.sql);
    driverId = driver.id;
    secrets.push(tracking_token, driver.token);
    const answers = [
      placed,
      await place(service, store, { customer: { name: 'Jordan Lee' } }),
      await ask(service, '/orders', { key: newSecret('api_key') }),
      await ask(service, `/track/${tracking_token}/status`),
      await ask(service, '/driver/orders', { key: driver.token }),
    ];
    ids.push(...answers.map(({ headers }) => headers.get('x-request-id')));
    (await openPhone(service, driver.token)).close();
  });
  const found = ids.map((id) => lines.find(({ request }) => request === id));
  expect(found).toMatchObject([
    { level: 30, route: '/orders/create', status: 201, retailer: store.retailerId },
    { route: '/orders/create', status: 400, retailer: store.retailerId },
    { route: '/orders', status: 401 },
    { route: '/track/:token/status', status: 200 },
    { route: '/driver/orders', status: 200, driver: driverId },
  ]);
  expect(lines).toContainEqual(expect.objectContaining({ route: '/driver/live', status: 101 }));
  for (const secret of [...secrets, 'Jordan', 'Valencia']) expect(JSON.stringify(lines)).not.toContain(secret);
});

it('the sandbox shows failed requests alone, and silence none', async () => {
  const fail = async (service: { url: string }) => {
    await ask(service, '/healthz');
    await ask(service, '/nowhere');
  };
  expect(await linesOf({}, fail)).toMatchObject([{ route: '/*', status: 404 }]);
  expect(await linesOf({ LOG_LEVEL: 'silent' }, fail)).toEqual([]);
});
