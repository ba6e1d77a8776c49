import { expect, test } from 'vitest';
import { jpeg } from '../harness/photo.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { northOf, type Store } from './clients.ts';
import { useService } from './world.ts';

const world = useService(startServiceHere);
const { addStore, addDriver, addFreeDriver, ask, place, show, untilOrder, cli } = world;

/** Drivers who carry several orders, on the built service. */

const photo = await jpeg();

const roomyDriver = (store: Store, capacity: number) => addFreeDriver(northOf(store.point, 400), { capacity });

test('three orders of a store go with one driver, who fetches them at once and brings them one by one', async () => {
  const store = await addStore();
  const driver = await roomyDriver(store, 3);
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) {
    const { body } = await place(store);
    expect(body.order.status).toBe('driver_assigned');
    ids.push(body.order.id);
  }
  expect((await place(store)).body.order.status).toBe('pending_dispatch');
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
  for (const id of ids) await untilOrder(store, id, { status: 'delivered', payment_status: 'paid' });
});

test('orders that wait at a store go along with the driver who comes for one of them', async () => {
  const store = await addStore();
  const waiting = await Promise.all([place(store), place(store), place(store)]);
  const driver = await roomyDriver(store, 2);
  await expect.poll(async () => (await driver.state()).orders.length, { interval: 200 }).toBe(2);
  const orders = await Promise.all(waiting.map(({ body }) => show(store, body.order.id)));
  expect(orders.map(({ status }) => status).toSorted()).toEqual([
    'driver_assigned',
    'driver_assigned',
    'pending_dispatch',
  ]);
});

test('a driver gives one of several orders back, and the other goes on', async () => {
  const store = await addStore();
  const driver = await roomyDriver(store, 2);
  const [first, second] = [await place(store), await place(store)].map(({ body }) => body.order.id);
  const release = { method: 'POST', key: driver.token, body: { reason: 'too_far' } };
  expect((await ask(`/driver/orders/${first}/release`, release)).status).toBe(200);
  const state = await driver.state();
  expect(state.orders.map(({ id }) => id)).toEqual([second]);
  expect(await show(store, first as string)).toMatchObject({ status: 'pending_dispatch', driver_id: null });
  const other = await addFreeDriver(northOf(store.point, 900));
  await untilOrder(store, first as string, { status: 'driver_assigned', driver_id: other.id });
});

test('the command line says how much a driver carries, and until when they stay', async () => {
  const store = await addStore();
  const driver = await roomyDriver(store, 1);
  expect((await place(store)).body.order.status).toBe('driver_assigned');
  expect((await place(store)).body.order.status).toBe('pending_dispatch');
  expect(await cli('driver', 'set-capacity', driver.id, '2')).toEqual({ driver_id: driver.id, capacity: 2 });
  await expect.poll(async () => (await driver.state()).orders.length, { interval: 200 }).toBe(2);
  const until = new Date(Date.now() + 3_600_000).toISOString();
  expect(await cli('driver', 'set-until', driver.id, until)).toEqual({
    driver_id: driver.id,
    on_duty_until: until,
  });
  expect(await driver.state()).toMatchObject({ on_duty: true, on_duty_until: until, capacity: 2 });
  await expect(cli('driver', 'set-capacity', driver.id, '21')).rejects.toThrow('1 to 20');
  await expect(cli('driver', 'set-until', driver.id, '2020-01-01T00:00:00Z')).rejects.toThrow('24 hours');
});

test.each([
  ['2020-01-01T00:00:00Z', 'lies in the past'],
  ['2999-01-01T00:00:00Z', 'is at most 24 hours ahead'],
])('a duty until %s is refused by name', async (until, message) => {
  const driver = await addDriver();
  const body = { on_duty: true, until };
  const { status, body: answer } = await ask('/driver/duty', { method: 'PUT', key: driver.token, body });
  expect([status, answer.error.fields]).toEqual([400, [{ field: 'until', message }]]);
});
