import { expect, it } from 'vitest';
import { APPROACH_SHARE } from '../../src/domain/schedule.ts';
import { STORE_STOP_MS, WAY_METERS_PER_MINUTE } from '../../src/limits.ts';
import { PLANNER_HEAD_START_MS } from '../../src/planning/planner-view.ts';
import { startBuiltService } from '../harness/service.ts';
import { storeOf } from '../harness/store.ts';
import { orderOf, type Store } from './clients.ts';
import { useService } from './world.ts';

type Range = { readonly from: string; readonly to: string };
type Later = {
  readonly ready_at: string;
  readonly dispatch_from: string;
  readonly deliver_by: string;
  readonly assigned_at: string;
  readonly estimated_delivery: Range | null;
};

const HOUR = 3_600_000;
/** A tier whose orders go to whoever is nearest when they are due; that of the others is planned. */
const NEAREST = { delivery_tier: 'scheduled' };
/** From when a driver is sought to when a parcel is ready, for `standard` and `scheduled`. */
const APPROACH_MS = ((8_000 * APPROACH_SHARE) / WAY_METERS_PER_MINUTE) * 60_000;

const world = useService(startBuiltService, async () => {
  await storeOf(world.sql).setTier(NEAREST.delivery_tier, { dispatchMode: 'nearest' });
  return {};
});
const { addStore, addFreeDriver, ask, place, show, untilOrder, cancel } = world;

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
/** An order that is due in so many milliseconds. */
const dueIn = (store: Store, ms: number, changes: object = {}) =>
  place(store, { ready_at: inMs(APPROACH_MS + ms), ...changes });
const timesOf = async (store: Store, id: string) => (await show(store, id)) as unknown as Later;
const advance = (store: Store, id: string) =>
  ask(`/sandbox/orders/${id}/advance`, { method: 'POST', key: store.apiKey });

it('waits for its time, uncharged and passed over by a free driver, who takes an order of now', async () => {
  const store = await addStore();
  const driver = await addFreeDriver(store.point);
  const readyAt = inMs(3 * HOUR);
  const answer = await place(store, { ready_at: readyAt, size: 'medium' });
  expect(answer.status, answer.text).toBe(201);
  const deliverBy = new Date(Date.parse(readyAt) + 3 * HOUR).toISOString();
  expect(answer.body.message).toContain('for later');
  const promised = { deliver_by: deliverBy, estimated_delivery: { from: readyAt, to: deliverBy } };
  const waits = { status: 'pending_dispatch', payment_status: 'not_charged', waiting_because: 'not_yet' };
  expect(answer.body.order).toMatchObject({ ...waits, ...promised });
  const { id } = answer.body.order;
  const shown = await show(store, id);
  expect(shown).toMatchObject({ waiting_because: 'not_yet', ready_at: readyAt, size: 'medium', ...promised });
  const due = Date.parse((shown as unknown as Later).dispatch_from);
  expect(Math.abs(due - (Date.parse(readyAt) - APPROACH_MS))).toBeLessThan(10);
  const list = await ask<{ orders: object[] }>('/orders?status=pending_dispatch', { key: store.apiKey });
  expect(list.body.orders).toEqual([expect.objectContaining({ id, waiting_because: 'not_yet', ...promised })]);

  const now = await place(store);
  expect(now.body.order).toMatchObject({ status: 'driver_assigned', estimated_delivery: { from: expect.any(String) } });
  expect((await show(store, now.body.order.id)).driver_id).toBe(driver.id);
  expect(await show(store, id)).toMatchObject({ status: 'pending_dispatch', payment_status: 'not_charged' });
});

it('goes out by itself at its time, and not before', async () => {
  const store = await addStore();
  const driver = await addFreeDriver(store.point);
  const { order } = (await dueIn(store, 10_000, NEAREST)).body;
  expect(order.status).toBe('pending_dispatch');
  await untilOrder(store, order.id, { status: 'driver_assigned', driver_id: driver.id });
  const { dispatch_from: due, assigned_at: at } = await timesOf(store, order.id);
  expect(Date.parse(at) - Date.parse(due)).toBeGreaterThan(-1_000);
  await untilOrder(store, order.id, { payment_status: 'paid' });
});

it('goes out where it is planned as late as its driver is at the store in time', async () => {
  const store = await addStore();
  const driver = await addFreeDriver(store.point);
  const readyAt = inMs(STORE_STOP_MS + PLANNER_HEAD_START_MS + 8_000);
  const { order } = (await place(store, { ready_at: readyAt })).body;
  expect(order.status).toBe('pending_dispatch');
  await untilOrder(store, order.id, { status: 'driver_assigned', driver_id: driver.id });
  const { assigned_at: at } = await timesOf(store, order.id);
  const aheadMs = Date.parse(readyAt) - Date.parse(at) - STORE_STOP_MS - PLANNER_HEAD_START_MS;
  // Looks are a second apart.
  expect(aheadMs).toBeLessThan(2_000);
});

it.each([
  ['nearest', () => dueIn],
  ['planned', () => (store: Store, ms: number) => place(store, { ready_at: inMs(STORE_STOP_MS + ms) })],
])('goes out after a kill of the process, where it is %s', async (_mode, orders) => {
  const store = await addStore();
  const { order } = (await orders()(store, 9_000, NEAREST)).body;
  const { order: tonight } = (await place(store, { ready_at: inMs(5 * HOUR) })).body;
  await world.restart((running) => running.stop('SIGKILL'));
  const driver = await addFreeDriver(store.point);
  expect(await show(store, tonight.id)).toMatchObject({ waiting_because: 'not_yet' });
  await untilOrder(store, order.id, { status: 'driver_assigned', driver_id: driver.id });
  expect(await show(store, tonight.id)).toMatchObject({ waiting_because: 'not_yet' });
});

it('is moved on by the sandbox: it is due, with a driver or without', async () => {
  const store = await addStore();
  const [first, second] = [await dueIn(store, HOUR), await dueIn(store, HOUR)];
  const { id } = first.body.order;
  expect((await advance(store, id)).body.order).toMatchObject({ status: 'pending_dispatch' });
  const sent = { ready_at: (await timesOf(store, id)).ready_at };
  expect((await show(store, id)).waiting_because).not.toBe('not_yet');
  await addFreeDriver(store.point);
  expect((await advance(store, id)).body.order).toMatchObject({ status: 'driver_assigned' });
  expect(Date.parse(sent.ready_at)).toBeGreaterThan(Date.now());
  expect(await show(store, id)).toMatchObject(sent);
  await addFreeDriver(store.point);
  expect((await advance(store, second.body.order.id)).body.order).toMatchObject({ status: 'driver_assigned' });
});

it('can be cancelled while it waits, and costs nothing', async () => {
  const store = await addStore();
  const { id } = (await dueIn(store, HOUR)).body.order;
  expect((await cancel(store, id, 'customer_request')).status).toBe(200);
  expect(await show(store, id)).toMatchObject({ status: 'cancelled', payment_status: 'not_charged' });
  expect((await advance(store, id)).status).toBe(409);
});

it('with times that cannot be kept is refused by name, and a retry of an order that was taken is not', async () => {
  const store = await addStore();
  const send = (changes: object, key: string) =>
    ask('/orders/create', {
      method: 'POST',
      key: store.apiKey,
      headers: { 'idempotency-key': key },
      body: orderOf(store, { ...changes }),
    });
  const late = { ready_at: inMs(-HOUR), deliver_after: inMs(HOUR), deliver_by: inMs(HOUR + 60_000) };
  const refused = await send(late, 'one');
  expect(refused.status).toBe(400);
  expect(refused.body.error.fields.map(({ field }) => field)).toEqual(['ready_at', 'deliver_by']);
  const taken = await send({}, 'one');
  expect(taken.status).toBe(201);
  expect((await send(late, 'one')).status).toBe(409);
  // The same order, sent again, is the same to the last field.
  const later = { ready_at: inMs(HOUR), deliver_by: inMs(3 * HOUR) };
  const first = await send(later, 'two');
  expect((await send(later, 'two')).body).toEqual(first.body);
});

it('in a batch and in a quote is judged as alone', async () => {
  const store = await addStore();
  const orders = [
    { idempotency_key: 'a', ...orderOf(store, { deliver_by: inMs(60_000) }) },
    { idempotency_key: 'b', ...orderOf(store, { deliver_after: inMs(HOUR), deliver_by: inMs(2 * HOUR) }) },
  ];
  const sent = { method: 'POST', key: store.apiKey };
  type Results = { results: { status: number; error?: { fields: { field: string }[] } }[] };
  const { body } = await ask<Results>('/orders/batch', { ...sent, body: { orders } });
  expect(body.results.map(({ status }) => status)).toEqual([400, 201]);
  expect(body.results[0]?.error?.fields.map(({ field }) => field)).toEqual(['orders[0].deliver_by']);

  type Quoted = { quote: { serviceable: boolean; fields?: { field: string }[] } };
  const quote = async (changes: object) =>
    (await ask<Quoted>('/quotes', { ...sent, body: orderOf(store, { ...changes }) })).body.quote;
  expect(await quote({ deliver_by: inMs(60_000) })).toMatchObject({
    serviceable: false,
    fields: [{ field: 'deliver_by' }],
  });
  const [from, to] = [inMs(HOUR), inMs(2 * HOUR)];
  const window = { serviceable: true, deliver_by: to, estimated_delivery: { from, to }, driver_available: false };
  expect(await quote({ deliver_after: from, deliver_by: to })).toMatchObject(window);
});
