import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../harness/command-line.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { newDataDir } from '../harness/service.ts';
import { type ServiceHere, startServiceHere } from '../harness/service-here.ts';
import { addDriver, addFreeDriver, addStore, ask, northOf, place, show, untilOrder } from './clients.ts';

/** Drivers who carry several orders, on the built service. */

let database: FreshDatabase;
let service: ServiceHere;
let photo: Buffer;
const data = newDataDir();

beforeAll(async () => {
  database = await freshDatabase();
  service = await startServiceHere({ DATABASE_URL: database.url, DATA_DIR: data.dataDir });
  photo = await sharp({ create: { width: 320, height: 240, channels: 3, background: '#8a5a2b' } })
    .jpeg()
    .toBuffer();
});
afterAll(async () => {
  await service?.stop();
  await database?.drop();
  data.remove();
});

async function roomyDriver(store: { point: { lat: number; lng: number } }, capacity: number) {
  const driver = await addDriver(service, database.sql, { capacity });
  await driver.at(northOf(store.point, 400));
  await driver.duty(true);
  return driver;
}

test('three orders of a store go with one driver, who fetches them at once and brings them one by one', async () => {
  const store = await addStore(database.sql);
  const driver = await roomyDriver(store, 3);
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) {
    const { body } = await place(service, store);
    expect(body.order.status).toBe('driver_assigned');
    ids.push(body.order.id);
  }
  expect((await place(service, store)).body.order.status).toBe('pending_dispatch');
  const before = await driver.state();
  expect(before.orders.map(({ id }) => id)).toEqual(ids);
  expect(before.stops.map(({ kind }) => kind)).toEqual(['pickup', 'dropoff', 'dropoff', 'dropoff']);
  expect(before.stops[0]?.order_ids.toSorted()).toEqual(ids.toSorted());
  // Nobody's door is told far from the store.
  expect(before.stops.slice(1).map(({ lat }) => lat)).toEqual([null, null, null]);
  for (const id of ids) expect((await driver.pickUp(id)).status).toBe(200);
  const onBoard = await driver.state();
  expect(onBoard.version).not.toBe(before.version);
  expect(onBoard.stops.map(({ kind, order_ids }) => [kind, order_ids.length])).toEqual(Array(3).fill(['dropoff', 1]));
  expect(onBoard.stops[0]?.order_ids).toEqual([onBoard.order.id]);
  for (const {
    order_ids: [orderId = ''],
  } of onBoard.stops) {
    expect((await driver.state()).order.id).toBe(orderId);
    expect((await driver.deliver(orderId, photo)).status).toBe(200);
  }
  for (const id of ids) await untilOrder(service, store, id, { status: 'delivered', payment_status: 'paid' });
});

test('orders that wait at a store go along with the driver who comes for one of them', async () => {
  const store = await addStore(database.sql);
  const waiting = await Promise.all([place(service, store), place(service, store), place(service, store)]);
  const driver = await roomyDriver(store, 2);
  await expect.poll(async () => (await driver.state()).orders.length, { interval: 200 }).toBe(2);
  const orders = await Promise.all(waiting.map(({ body }) => show(service, store, body.order.id)));
  expect(orders.map(({ status }) => status).toSorted()).toEqual([
    'driver_assigned',
    'driver_assigned',
    'pending_dispatch',
  ]);
});

test('a driver gives one of several orders back, and the other goes on', async () => {
  const store = await addStore(database.sql);
  const driver = await roomyDriver(store, 2);
  const [first, second] = [await place(service, store), await place(service, store)].map(({ body }) => body.order.id);
  const release = { method: 'POST', key: driver.token, body: { reason: 'too_far' } };
  expect((await ask(service, `/driver/orders/${first}/release`, release)).status).toBe(200);
  const state = await driver.state();
  expect(state.orders.map(({ id }) => id)).toEqual([second]);
  expect(await show(service, store, first as string)).toMatchObject({ status: 'pending_dispatch', driver_id: null });
  const other = await addFreeDriver(service, database.sql, northOf(store.point, 900));
  await untilOrder(service, store, first as string, { status: 'driver_assigned', driver_id: other.id });
});

test('the command line says how much a driver carries, and until when they stay', async () => {
  const store = await addStore(database.sql);
  const driver = await roomyDriver(store, 1);
  const env = { DATABASE_URL: database.url, DATA_DIR: data.dataDir };
  expect((await place(service, store)).body.order.status).toBe('driver_assigned');
  expect((await place(service, store)).body.order.status).toBe('pending_dispatch');
  expect(await runCli(env, 'driver', 'set-capacity', driver.id, '2')).toEqual({ driver_id: driver.id, capacity: 2 });
  await expect.poll(async () => (await driver.state()).orders.length, { interval: 200 }).toBe(2);
  const until = new Date(Date.now() + 3_600_000).toISOString();
  expect(await runCli(env, 'driver', 'set-until', driver.id, until)).toEqual({
    driver_id: driver.id,
    on_duty_until: until,
  });
  expect(await driver.state()).toMatchObject({ on_duty: true, on_duty_until: until, capacity: 2 });
  await expect(runCli(env, 'driver', 'set-capacity', driver.id, '21')).rejects.toThrow('1 to 20');
  await expect(runCli(env, 'driver', 'set-until', driver.id, '2020-01-01T00:00:00Z')).rejects.toThrow('24 hours');
});

test.each([
  ['2020-01-01T00:00:00Z', 'lies in the past'],
  ['2999-01-01T00:00:00Z', 'is at most 24 hours ahead'],
])('a duty until %s is refused by name', async (until, message) => {
  const driver = await addDriver(service, database.sql);
  const body = { on_duty: true, until };
  const { status, body: answer } = await ask(service, '/driver/duty', { method: 'PUT', key: driver.token, body });
  expect([status, answer.error.fields]).toEqual([400, [{ field: 'until', message }]]);
});
