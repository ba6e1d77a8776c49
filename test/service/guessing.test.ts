import { afterAll, beforeAll, expect, it } from 'vitest';
import { newSecret } from '../../src/domain/ids.ts';
import { runCli } from '../harness/command-line.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { newDataDir } from '../harness/service.ts';
import { type ServiceHere, startServiceHere } from '../harness/service-here.ts';
import { type Answer, addDriver, addStore, ask, openPhone, openSocket, place } from './clients.ts';

const GUESSES = 500;
let database: FreshDatabase;
let service: ServiceHere;
const data = newDataDir();

beforeAll(async () => {
  database = await freshDatabase();
  service = await startServiceHere({ DATABASE_URL: database.url, DATA_DIR: data.dataDir });
});

afterAll(async () => {
  await service?.stop();
  await database?.drop();
  data.remove();
});

const list = (key: string): Promise<Answer> => ask(service, '/orders', { key });

it('a wrong key is 401 however often it is sent, and nothing else is', async () => {
  const known = await addStore(database.sql);
  const guessed = new Map<number, number>();
  for (let i = 0; i < GUESSES; i++) {
    const { status } = await list(newSecret(i % 2 ? 'api_key' : 'driver_token'));
    guessed.set(status, (guessed.get(status) ?? 0) + 1);
  }
  expect([...guessed]).toEqual([[401, GUESSES]]);
  expect((await place(service, known)).status).toBe(201);
  expect((await list((await addStore(database.sql)).apiKey)).status).toBe(200);

  const { token } = await addDriver(service, database.sql);
  expect((await ask(service, '/driver/orders', { key: token })).status).toBe(200);
  expect((await ask(service, '/driver/orders', { key: newSecret('driver_token') })).status).toBe(401);
  const another = await addDriver(service, database.sql);
  (await openPhone(service, another.token)).close();
  const phone = await openSocket(service, '/driver/live');
  phone.send({ type: 'hello', token: newSecret('driver_token') });
  await expect.poll(() => phone.closedWith(), { interval: 10 }).toBe(4401);
});

it('a key made by the command line works when the command has returned, while others guess', async () => {
  let isOver = false;
  const guesses = Array.from({ length: 8 }, async () => {
    const statuses = new Set<number>();
    while (!isOver) statuses.add((await list(newSecret('api_key'))).status);
    return [...statuses];
  });
  const place = ['--name', 'New', '--address', '1 Main St, Reno, NV 89501', '--lat', '39.5', '--lng', '-119.8'];
  const made = await runCli({ DATABASE_URL: database.url, SANDBOX: '1' }, 'retailer', 'create', ...place);
  expect((await list(made.api_key ?? '')).status).toBe(200);
  isOver = true;
  expect((await Promise.all(guesses)).flat()).toEqual(Array(8).fill(401));
});
