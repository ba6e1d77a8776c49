import { expect, it } from 'vitest';
import { newSecret } from '../../src/domain/ids.ts';
import { startServiceHere } from '../harness/service-here.ts';
import type { Answer } from './clients.ts';
import { useService } from './world.ts';

const world = useService(startServiceHere);
const { addStore, addDriver, ask, place, openPhone, openSocket, cli } = world;

const GUESSES = 500;

const list = (key: string): Promise<Answer> => ask('/orders', { key });

it('a wrong key is 401 however often it is sent, and nothing else is', async () => {
  const known = await addStore();
  const guessed = new Map<number, number>();
  for (let i = 0; i < GUESSES; i++) {
    const { status } = await list(newSecret(i % 2 ? 'api_key' : 'driver_token'));
    guessed.set(status, (guessed.get(status) ?? 0) + 1);
  }
  expect([...guessed]).toEqual([[401, GUESSES]]);
  expect((await place(known)).status).toBe(201);
  expect((await list((await addStore()).apiKey)).status).toBe(200);

  const { token } = await addDriver();
  expect((await ask('/driver/orders', { key: token })).status).toBe(200);
  expect((await ask('/driver/orders', { key: newSecret('driver_token') })).status).toBe(401);
  const another = await addDriver();
  (await openPhone(another.token)).close();
  const phone = await openSocket('/driver/live');
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
  const made = await cli('retailer', 'create', ...place);
  expect((await list(made.api_key ?? '')).status).toBe(200);
  isOver = true;
  expect((await Promise.all(guesses)).flat()).toEqual(Array(8).fill(401));
});
