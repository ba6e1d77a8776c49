import { afterAll, beforeAll, expect, it } from 'vitest';
import { newSecret } from '../../src/domain/ids.ts';
import { MAX_UNKNOWN_SECRETS, UNKNOWN_SECRETS_SECONDS } from '../../src/limits.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { newDataDir, type Running, startBuiltService } from '../harness/service.ts';
import { type Answer, addDriver, addStore, ask, openSocket, place, type Store } from './clients.ts';

let database: FreshDatabase;
let service: Running;
const data = newDataDir();

beforeAll(async () => {
  database = await freshDatabase();
  service = await startBuiltService({ DATABASE_URL: database.url, DATA_DIR: data.dataDir, TRUST_PROXY: '1' });
});

afterAll(async () => {
  await service?.stop();
  await database?.drop();
  data.remove();
});

const list = (key: string, address?: string): Promise<Answer> =>
  ask(service, '/orders', { key, headers: address ? { 'x-forwarded-for': `198.51.100.1, ${address}` } : {} });

it('an address that guessed too often is held off, with keys and tokens, and nobody else is', async () => {
  const known: Store = await addStore(database.sql);
  expect((await place(service, known)).status).toBe(201);
  for (let i = 0; i < MAX_UNKNOWN_SECRETS; i++) expect((await list(newSecret('api_key'))).status).toBe(401);

  const refused = await list(newSecret('api_key'));
  expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limited']);
  const waitSeconds = Number(refused.headers.get('retry-after'));
  expect(waitSeconds).toBeGreaterThan(0);
  expect(waitSeconds).toBeLessThanOrEqual(UNKNOWN_SECRETS_SECONDS);

  const created = await addStore(database.sql);
  expect((await list(created.apiKey)).status).toBe(429);
  expect((await list(created.apiKey, '203.0.113.8')).status).toBe(200);
  expect((await list(created.apiKey)).status).toBe(200);
  expect((await place(service, known)).status).toBe(201);

  const { token } = await addDriver(service, database.sql);
  expect((await ask(service, '/driver/orders', { key: token })).status).toBe(429);
  const phone = await openSocket(service, '/driver/live');
  phone.send({ type: 'hello', token });
  await expect.poll(() => phone.closedWith(), { timeout: 5_000, interval: 10 }).toBe(1013);
});

it('addresses of one IPv6 network count as one', async () => {
  for (let i = 0; i < MAX_UNKNOWN_SECRETS; i++) {
    expect((await list(newSecret('api_key'), `2001:db8:1:2::${i.toString(16)}`)).status).toBe(401);
  }
  expect((await list(newSecret('api_key'), '2001:db8:1:2:ffff::1')).status).toBe(429);
  expect((await list(newSecret('api_key'), '2001:db8:1:3::1')).status).toBe(401);
});
