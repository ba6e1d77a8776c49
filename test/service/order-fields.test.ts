import { expect, test } from 'vitest';
import { jpeg } from '../harness/photo.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { northOf, orderOf } from './clients.ts';
import { useService } from './world.ts';

const TRACKING_URL = 'https://track.sameday.test';

const world = useService(startServiceHere, { TRACKING_URL });
const { addStore, addFreeDriver, ask, place, show, openPhone, openSocket } = world;

const FIELDS = {
  external_id: 'A-1001',
  metadata: { cart: '77', 'gift.note': 'Happy\nbirthday <b>Ada</b>' },
  items: [
    { name: 'Floor lamp', quantity: 1 },
    { name: 'Bulb', quantity: 12 },
  ],
  pickup_instructions: 'Back door',
  dropoff_instructions: 'Code 1234',
  leave_at_door: true,
};
type Reply = { order: Record<string, unknown>; warnings?: { field: string; message: string }[] };

function send(body: object, key: string, idempotencyKey: string) {
  const headers = { 'idempotency-key': idempotencyKey };
  return ask<Reply>('/orders/create', { method: 'POST', key, body, headers });
}

test('an order with every field is told back to its store, and found by its number', async () => {
  const store = await addStore();
  const created = await place(store, FIELDS);
  expect(created.status, created.text).toBe(201);
  const { id, tracking_token } = created.body.order;
  const tracking_url = `${TRACKING_URL}/track/${tracking_token}`;
  expect(created.body.order).toMatchObject({ tracking_url, external_id: 'A-1001' });
  expect(created.body).not.toHaveProperty('warnings');
  expect(await show(store, id)).toMatchObject({ tracking_url, ...FIELDS });

  const plain = (await place(store)).body.order;
  expect(plain).toMatchObject({ external_id: null });
  const nothing = { external_id: null, metadata: {}, items: [], pickup_instructions: null, dropoff_instructions: null };
  expect(await show(store, plain.id)).toMatchObject({ ...nothing, leave_at_door: false });

  const list = async (query: string) => {
    const { body } = await ask<{ orders: { id: string; external_id: string }[] }>(`/orders?${query}`, {
      key: store.apiKey,
    });
    return body.orders.map((order) => [order.id, order.external_id]);
  };
  expect(await list('external_id=A-1001')).toEqual([[id, 'A-1001']]);
  expect(await list('external_id=A-1002')).toEqual([]);
  const { created_at } = plain as { created_at: string };
  expect(await list(`created_after=${created_at}`)).toEqual([[plain.id, null]]);
  expect(await list(`created_before=${created_at}`)).toEqual([[id, 'A-1001']]);

  const longest = '🛵'.repeat(255);
  const long = (await place(store, { external_id: longest })).body.order;
  const query = new URLSearchParams({ external_id: longest, status: long.status, created_after: long.created_at });
  expect(await list(String(query))).toEqual([[long.id, longest]]);
});

test('unknown fields are ignored and named, in a retry too, and bad ones refused by name', async () => {
  const store = await addStore();
  const customer = { name: 'Jo', email: 'jo@example.com', phone: '+14155550123', fone: '1' };
  const body = orderOf(store, { ...FIELDS, fee: 1, customer });
  const warnings = ['customer.fone', 'fee'].map((field) => ({
    field,
    message: 'is not a field of an order; it was ignored',
  }));
  const first = await send(body, store.apiKey, 'one');
  const again = await send(body, store.apiKey, 'one');
  expect([first.status, again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 201, 'true']);
  for (const reply of [first, again]) {
    expect(reply.body.warnings?.toSorted((one, other) => (one.field < other.field ? -1 : 1))).toEqual(warnings);
    expect(reply.body.order.id).toBe(first.body.order.id);
    expect(reply.body.order.external_id).toBe('A-1001');
  }
  const bad = await place(store, {
    items: [FIELDS.items[0], { name: 'x', quantity: 0 }],
    metadata: { foo: 1 },
  });
  expect([bad.status, bad.body.error.fields.map(({ field }) => field)]).toEqual([
    400,
    ['metadata.foo', 'items[1].quantity'],
  ]);
});

test('the customer changes the notes until the pickup, and driver, store and other pages see them at once', async () => {
  const store = await addStore();
  const driver = await addFreeDriver(northOf(store.point, 100));
  const { order } = (await place(store, FIELDS)).body;
  expect(order.status).toBe('driver_assigned');
  const phone = await openPhone(driver.token);
  const page = await openSocket(`/track/${order.tracking_token}/live`);
  const put = (body: object) => ask(`/track/${order.tracking_token}/dropoff`, { method: 'PUT', body });
  const changed = await put({ dropoff_instructions: 'Gate code 99 <i>', leave_at_door: false });
  expect(changed.status, changed.text).toBe(200);
  const notes = { instructions: 'Gate code 99 <i>', leave_at_door: false };
  await expect.poll(() => phone.messages.at(-1)).toMatchObject({ order: { dropoff: notes } });
  await expect.poll(() => page.messages.at(-1)).toMatchObject({ type: 'order', order: { dropoff_notes: notes } });
  const shown = await show(store, order.id);
  expect(shown).toMatchObject({ dropoff_instructions: 'Gate code 99 <i>', leave_at_door: false });
  const event = shown.events.find(({ type }) => type === 'dropoff_changed');
  expect(event?.data).toBeNull();
  expect(world.output()).not.toContain('Gate code');

  expect((await driver.pickUp(order.id)).status).toBe(200);
  expect((await put({ dropoff_instructions: null, leave_at_door: true })).body.error.code).toBe('illegal_transition');
  expect((await driver.state()).order).toMatchObject({ items: FIELDS.items, dropoff: notes });
  const status = await ask<{ order: object }>(`/track/${order.tracking_token}/status`);
  expect(status.body.order).toMatchObject({ dropoff_notes: null });
  expect(status.text).not.toContain('Gate code');
  expect((await driver.deliver(order.id, await jpeg())).status).toBe(200);
  for (const socket of [phone, page]) socket.close();
});
