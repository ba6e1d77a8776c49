import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Lease } from '../../src/domain/plan.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { newDataDir } from '../harness/service.ts';
import { type ServiceHere, startServiceHere } from '../harness/service-here.ts';
import { storeOf } from '../harness/store.ts';
import { addDriver, addFreeDriver, addStore, newPlace, northOf, openPhone, place, untilOrder } from './clients.ts';

/** What a driver who is asked to wait is told by the built service; another process asks. */

let database: FreshDatabase;
let service: ServiceHere;
let lease: Lease;
const data = newDataDir();
const patience = { interval: 20 };

beforeAll(async () => {
  database = await freshDatabase();
  service = await startServiceHere({ DATABASE_URL: database.url, DATA_DIR: data.dataDir });
  // Of a region that the service does not plan.
  lease = (await storeOf(database.sql, 'planner').takeLease('elsewhere', 600_000)) as Lease;
});
afterAll(async () => {
  await service?.stop();
  await database?.drop();
  data.remove();
});

const askToWait = (driverId: string, at: { lat: number; lng: number }) =>
  storeOf(database.sql, 'planner').writeWaits(lease, [{ driverId, place: { ...at, name: 'Corner Market' } }], []);
const waitOf = (message: unknown) => (message as { wait_at?: unknown }).wait_at;

test('the phone is told at once, over the socket and over HTTP, until the driver is there', async () => {
  const at = newPlace();
  const driver = await addFreeDriver(service, database.sql, northOf(at, 2_000));
  const phone = await openPhone(service, driver.token);
  const told = { ...at, name: 'Corner Market' };
  expect(waitOf(await driver.state())).toBeNull();
  expect(await askToWait(driver.id, at)).toEqual([driver.id]);
  await expect.poll(() => phone.messages.map(waitOf).at(-1), patience).toEqual(told);
  expect(waitOf(await driver.state())).toEqual(told);
  phone.send({ type: 'position', ...northOf(at, 50) });
  await expect.poll(() => phone.messages.map(waitOf).at(-1), patience).toBeNull();
  expect(waitOf(await driver.state())).toBeNull();
  phone.close();
});

test('an order takes the place of what was asked', async () => {
  const store = await addStore(database.sql);
  const driver = await addDriver(service, database.sql);
  await driver.at(northOf(store.point, 2_000));
  await driver.duty(true);
  await askToWait(driver.id, store.point);
  expect(waitOf(await driver.state())).not.toBeNull();
  const { body } = await place(service, store);
  await untilOrder(service, store, body.order.id, { status: 'driver_assigned', driver_id: driver.id });
  expect(await driver.state()).toMatchObject({ orders: [{ id: body.order.id }], wait_at: null });
});
