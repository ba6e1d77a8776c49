import { beforeAll, expect, test } from 'vitest';
import type { Lease } from '../../src/domain/plan.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { storeOf } from '../harness/store.ts';
import { newPlace, northOf } from './clients.ts';
import { useService } from './world.ts';

const world = useService(startServiceHere);
const { addStore, addDriver, addFreeDriver, place, untilOrder, openPhone } = world;

/** What a driver who is asked to wait is told by the built service; another process asks. */

let lease: Lease;
const patience = { interval: 20 };

beforeAll(async () => {
  // Of a region that the service does not plan.
  lease = (await storeOf(world.sql, 'planner').takeLease('elsewhere', 600_000)) as Lease;
});

const askToWait = (driverId: string, at: { lat: number; lng: number }) =>
  storeOf(world.sql, 'planner').writeWaits(lease, [{ driverId, place: { ...at, name: 'Corner Market' } }], []);
const waitOf = (message: unknown) => (message as { wait_at?: unknown }).wait_at;

test('the phone is told at once, over the socket and over HTTP, until the driver is there', async () => {
  const at = newPlace();
  const driver = await addFreeDriver(northOf(at, 2_000));
  const phone = await openPhone(driver.token);
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
  const store = await addStore();
  const driver = await addDriver();
  await driver.at(northOf(store.point, 2_000));
  await driver.duty(true);
  await askToWait(driver.id, store.point);
  expect(waitOf(await driver.state())).not.toBeNull();
  const { body } = await place(store);
  await untilOrder(store, body.order.id, { status: 'driver_assigned', driver_id: driver.id });
  expect(await driver.state()).toMatchObject({ orders: [{ id: body.order.id }], wait_at: null });
});
