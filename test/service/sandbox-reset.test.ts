import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runCommand } from '../harness/command-line.ts';
import { type Environment, startBuiltService } from '../harness/service.ts';
import { chargesOf } from './clients.ts';
import { useService } from './world.ts';

const SOON = { interval: 20 };

const world = useService(startBuiltService, (dataDir) => ({ DATA_DIR: join(dataDir, 'not', 'there') }));
const { addStore, addFreeDriver, ask, place, untilOrder, openPhone, openSocket } = world;
afterAll(async () => expect(await world.service.stop()).toBe(0));

/** What a command says on standard error where it fails. */
async function refused(args: readonly string[], environment: Environment): Promise<string> {
  const { code, stderr } = await runCommand(environment, ...args);
  expect(code).toBe(1);
  return stderr;
}
const reset = () => world.cli<{ orders_removed: number }>('sandbox', 'reset', '--yes');
const waiting = async () => {
  const { text } = await ask('/metrics');
  return Number(/^sameday_orders_waiting (\d+)$/m.exec(text)?.[1]);
};

test('a sandbox starts on a data folder that does not exist yet', () => {
  expect(existsSync(join(world.service.dataDir, 'sandbox.json'))).toBe(true);
});

test('a reset removes every order while the service runs, and the next order finds its driver', async () => {
  const store = await addStore();
  const driver = await addFreeDriver(store.point);
  const phone = await openPhone(driver.token);
  const taken = (await place(store)).body.order;
  expect(taken.status).toBe('driver_assigned');
  const page = await openSocket(`/track/${taken.tracking_token}/live`);
  for (let i = 0; i < 5; i++) expect((await place(store)).body.order.status).toBe('pending_dispatch');
  expect(await waiting()).toBe(5);

  expect(await reset()).toEqual({ orders_removed: 6 });
  await expect.poll(waiting, SOON).toBe(0);
  await expect.poll(() => phone.messages.at(-1), SOON).toMatchObject({ type: 'state', on_duty: true, order: null });
  await expect.poll(() => page.closedWith(), SOON).not.toBeNull();
  expect((await ask(`/orders/${taken.id}`, { key: store.apiKey })).status).toBe(404);
  expect((await driver.pickUp(taken.id)).status).toBe(404);

  const next = (await place(store)).body.order;
  await untilOrder(store, next.id, {
    status: 'driver_assigned',
    driver_id: driver.id,
    payment_status: 'paid',
  });
  expect(chargesOf(world.service.dataDir, next.id)).toHaveLength(1);
  expect((await driver.pickUp(next.id)).status).toBe(200);
  phone.close();
  page.close();
  expect(await reset()).toEqual({ orders_removed: 1 });
  expect(await reset()).toEqual({ orders_removed: 0 });
});

test('orders that are being placed during resets are answered, and those that stay are whole', async () => {
  const store = await addStore();
  let resets = 0;
  const statuses = new Set<number>();
  const clients = Array.from({ length: 8 }, async () => {
    while (resets < 3) statuses.add((await place(store)).status);
  });
  const resetting = (async () => {
    for (; resets < 3; resets++) await reset();
  })().finally(() => {
    resets = 3;
  });
  await Promise.all([resetting, ...clients]);
  expect([...statuses]).toEqual([201]);
  const parts = await world.sql`
    select (select count(*) from orders)::int as orders, (select count(*) from customers)::int as customers,
      (select count(distinct order_id) from order_events)::int as with_events`;
  expect(parts[0]).toEqual({ orders: parts[0]?.orders, customers: parts[0]?.orders, with_events: parts[0]?.orders });
  await reset();
  await expect.poll(waiting, { interval: 50 }).toBe(0);
  expect(world.output()).not.toMatch(/"level":(50|60|"error")/);
});

test('only a sandbox is reset, and another database than its own only where that is meant', async () => {
  expect(await refused(['sandbox', 'reset', '--yes'], { ...world.env, SANDBOX: '' })).toContain(
    'Only a sandbox is reset.',
  );
  expect(await refused(['sandbox', 'reset'], world.env)).toContain('Add --yes if it is a sandbox’s.');
  expect(await refused(['sandbox', 'reset'], { ...world.env, DATABASE_URL: '' })).toContain('No service is running on');
});

test('the service’s first lines say how to remove all orders', () => {
  expect(world.output()).toContain('npm run -s sameday -- sandbox reset');
  expect(readFileSync(join(world.service.dataDir, 'sandbox.json'), 'utf8')).toContain('apiKey');
});
