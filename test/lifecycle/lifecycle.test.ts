import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { startServiceHere } from '../harness/service-here.ts';
import { northOf } from '../service/clients.ts';
import { useService } from '../service/world.ts';

const world = useService(startServiceHere);
const { addStore, addFreeDriver, ask, place, untilOrder, openPhone, chargesOf, cli, cancel, assigned } = world;

const eventsOf = async (orderId: string) =>
  (await world.sql`select type from order_events where order_id = ${orderId} order by sequence`).map((row) => row.type);

test('a released order goes to the next driver, never to the first, and is not charged or texted again', async () => {
  const { store, driver, id: orderId } = await assigned();
  const second = await addFreeDriver(northOf(store.point, 500));
  expect((await driver.act(orderId, 'release', { reason: 'vehicle' })).status).toBe(200);
  await untilOrder(store, orderId, { status: 'driver_assigned' });
  expect((await second.state()).order).toMatchObject({ id: orderId });
  expect((await second.act(orderId, 'release', { reason: 'emergency' })).status).toBe(200);
  await untilOrder(store, orderId, { status: 'pending_dispatch' });
  await driver.at(store.point);
  expect((await ask(`/orders/${orderId}`, { key: store.apiKey })).body.order.status).toBe('pending_dispatch');
  expect(chargesOf(orderId)).toHaveLength(1);
  const texts = await world.sql`select count(*)::int as n from outbox where order_id = ${orderId} and queue = 'sms'`;
  expect(texts[0]?.n).toBe(1);
});

test('an action sent twice with the same id, also at once, happens once and gets the same answer', async () => {
  const { driver, id: orderId } = await assigned();
  const stamp = { action_id: randomUUID(), captured_at: '2026-01-31T17:05:00.000Z' };
  const answers = await Promise.all([1, 2, 3].map(() => driver.act(orderId, 'pick-up', stamp)));
  const again = await driver.act(orderId, 'pick-up', stamp);
  for (const answer of [...answers, again]) {
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.order).toEqual(again.body.order);
  }
  expect((await eventsOf(orderId)).filter((type) => type === 'picked_up')).toHaveLength(1);
  const [event] = await world.sql`select data from order_events where order_id = ${orderId} and type = 'picked_up'`;
  expect(event?.data).toEqual({ captured_at: stamp.captured_at });
});

test('a cancelled order is refunded in full once; its driver is told and free for the next order', async () => {
  const { store, driver, id: orderId } = await assigned();
  const phone = await openPhone(driver.token);
  expect((await cancel(store, orderId)).status).toBe(200);
  expect((await cancel(store, orderId)).status).toBe(200);
  await expect.poll(() => phone.messages.at(-1)).toMatchObject({ type: 'state', order: null });
  await untilOrder(store, orderId, { status: 'cancelled', payment_status: 'refunded' });
  expect((await eventsOf(orderId)).filter((type) => type === 'refunded')).toHaveLength(1);
  expect((await place(store)).body.order.status).toBe('driver_assigned');
  phone.close();
});

test('an order is cancelled before its pickup only, and by its own store only', async () => {
  const { store, driver, id: orderId } = await assigned();
  const other = await addStore();
  expect((await cancel(other, orderId)).status).toBe(404);
  expect((await cancel(store, orderId, 'because')).body.error.fields).toMatchObject([{ field: 'reason' }]);
  expect((await driver.act(orderId, 'pick-up')).status).toBe(200);
  const late = await cancel(store, orderId);
  expect([late.status, late.body.error.code]).toEqual([409, 'illegal_transition']);
  expect((await driver.act(orderId, 'release', { reason: 'vehicle' })).status).toBe(409);
});

test('a waiting order that is cancelled was never charged and gets no driver', async () => {
  const store = await addStore();
  const order = (await place(store)).body.order;
  expect((await cancel(store, order.id)).status).toBe(200);
  const driver = await addFreeDriver(store.point);
  expect((await driver.state()).order).toBeNull();
  expect(chargesOf(order.id)).toEqual([]);
  await untilOrder(store, order.id, { status: 'cancelled', payment_status: 'not_charged' });
});

test('an undeliverable order keeps its fee and its driver until it is returned', async () => {
  const { store, driver, id: orderId } = await assigned();
  await driver.act(orderId, 'pick-up');
  expect((await driver.act(orderId, 'undeliverable', { reason: 'nobody_home' })).status).toBe(200);
  expect((await place(store)).body.order.status).toBe('pending_dispatch');
  expect((await driver.act(orderId, 'return')).status).toBe(200);
  await untilOrder(store, orderId, { status: 'returned', payment_status: 'paid' });
  await expect.poll(async () => (await driver.state()).order?.status).toBe('driver_assigned');
});

test('a store lists its orders by pages, each order once unless it changes meanwhile', async () => {
  const store = await addStore();
  const ids = new Set<string>();
  for (let i = 0; i < 5; i++) ids.add((await place(store)).body.order.id);
  const seen: { id: string; updated_at: string }[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const path: string = `/orders?limit=2${cursor && `&cursor=${cursor}`}`;
    const page: { orders: { id: string; updated_at: string }[]; next_cursor: string | null } = (
      await ask<{ orders: { id: string; updated_at: string }[]; next_cursor: string | null }>(path, {
        key: store.apiKey,
      })
    ).body;
    expect(page.orders.length).toBeLessThanOrEqual(2);
    seen.push(...page.orders);
    cursor = page.next_cursor;
  }
  expect(new Set(seen.map(({ id }) => id))).toEqual(ids);
  expect(new Set(seen.map(({ id, updated_at }) => `${id} ${updated_at}`)).size).toBe(seen.length);
  expect((await ask('/orders?status=nonsense&limit=0', { key: store.apiKey })).status).toBe(400);
});

test.each([
  ['updated_after=0000-01-01T00:00:00Z', 'updated_after'],
  ['updated_after=2026-02-31T00:00:00Z', 'updated_after'],
  [`cursor=${Buffer.from(`1:${'-'.repeat(36)}`).toString('base64url')}`, 'cursor'],
  ['updated_since=2026-01-01T00:00:00Z', 'updated_since'],
])('a list with %s is refused, and the field named', async (query, field) => {
  const store = await addStore();
  const refused = await ask(`/orders?${query}`, { key: store.apiKey });
  expect([refused.status, refused.body.error.fields.map((each) => each.field)]).toEqual([400, [field]]);
});

test('an action captured in a year beyond the tables’ range is refused, and the field named', async () => {
  const { driver, id: orderId } = await assigned();
  const refused = await driver.act(orderId, 'pick-up', { captured_at: '0000-01-01T00:00:00Z' });
  expect([refused.status, refused.body.error.fields.map((each) => each.field)]).toEqual([400, ['captured_at']]);
});

test('the operator ends an order whose driver has disappeared; the driver is free again', async () => {
  const { store, driver, id: orderId } = await assigned();
  await expect(cli('order', 'return', orderId, '--yes')).rejects.toThrow('picked up and not handed over');
  await driver.act(orderId, 'pick-up');
  expect(await cli('order', 'return', orderId, '--yes')).toEqual({ order_id: orderId, status: 'returned' });
  // What becomes of the texts is told at any time.
  const events = (await eventsOf(orderId)).filter((type) => !type.startsWith('sms_'));
  expect(events.slice(-2)).toEqual(['undeliverable', 'returned']);
  await untilOrder(store, orderId, { status: 'returned', payment_status: 'paid' });
  expect((await driver.state()).order).toBeNull();
  await expect.poll(async () => (await place(store)).body.order.status).toBe('driver_assigned');
});

test('the operator cancels an order on the command line while the service runs', async () => {
  const store = await addStore();
  const order = (await place(store)).body.order;
  expect(await cli('order', 'cancel', order.id, '--yes')).toEqual({ order_id: order.id, status: 'cancelled' });
  await expect(cli('order', 'cancel', order.id, '--yes')).rejects.toThrow('no such order before its pickup');
});
