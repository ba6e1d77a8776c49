import { beforeEach, describe, expect, it } from 'vitest';
import { startServiceHere } from '../harness/service-here.ts';
import type { Store } from './clients.ts';
import { useService } from './world.ts';

const world = useService(startServiceHere);
const { addStore, addFreeDriver, ask, place, show, untilOrder } = world;

let store: Store;

beforeEach(async () => {
  // In a town without the drivers of other tests.
  store = await addStore();
});

/** Moves an order on, and tells what it became, or why it did not. */
async function advance(orderId: string, to?: string, by: Store = store): Promise<string> {
  const body = to === undefined ? undefined : { to };
  const path = `/sandbox/orders/${orderId}/advance`;
  const answer = await ask(path, { method: 'POST', key: by.apiKey, body });
  return answer.body.order?.status ?? `${answer.status} ${answer.body.error.code}`;
}

async function placed(withDriver: boolean): Promise<string> {
  if (withDriver) await addFreeDriver(store.point);
  const { order } = (await place(store)).body;
  expect(order.status).toBe(withDriver ? 'driver_assigned' : 'pending_dispatch');
  return order.id;
}

it('an order is moved on step by step to its delivery, with a photo, and no further', async () => {
  const id = await placed(true);
  expect(await advance(id)).toBe('picked_up');
  expect(await advance(id)).toBe('delivered');
  expect(await advance(id)).toBe('409 illegal_transition');
  const order = await show(store, id);
  expect(order.events.map(({ type }) => type)).toEqual(expect.arrayContaining(['picked_up', 'delivered']));
  const photo = await fetch(`${world.url}/track/${order.tracking_token}/photo`);
  expect(photo.headers.get('content-type')).toBe('image/jpeg');
  // The driver is free for the next order.
  const { body } = await place(store);
  expect(body.order.status).toBe('driver_assigned');
  expect(await advance(body.order.id, 'picked_up')).toBe('picked_up');
  expect(await advance(body.order.id, 'undeliverable')).toBe('undeliverable');
  expect(await advance(body.order.id)).toBe('returned');
});

it('a silent driver loses the order, and a waiting order gets a driver or expires, without a wait', async () => {
  const id = await placed(true);
  // The same driver is heard of again, and is the only one.
  expect(await advance(id, 'pending_dispatch')).toMatch(/pending_dispatch|driver_assigned/);
  await untilOrder(store, id, { status: 'driver_assigned' });
  const { events } = await show(store, id);
  expect(events.map(({ type, data }) => (type === 'released' ? data?.reason : type))).toContain('driver_silent');

  const waiting = await placed(false);
  expect(await advance(waiting)).toBe('409 illegal_transition');
  expect(await advance(waiting, 'expired')).toBe('expired');
  expect(await show(store, waiting)).toMatchObject({ payment_status: 'not_charged', status: 'expired' });
});

it('a step that does not follow, a status that is none and an order of another store are refused', async () => {
  const id = await placed(false);
  expect(await advance(id, 'delivered')).toBe('409 illegal_transition');
  expect(await advance(id, 'lost')).toBe('400 invalid_request');
  const path = `/sandbox/orders/${id}/advance`;
  const misspelt = await ask(path, { method: 'POST', key: store.apiKey, body: { To: 'expired' } });
  expect([misspelt.status, misspelt.body.error.fields]).toEqual([400, [{ field: 'To', message: 'is not known here' }]]);
  expect(await advance(id, undefined, await addStore())).toBe('404 not_found');
  expect((await show(store, id)).status).toBe('pending_dispatch');
});

describe('a bad day of one order', () => {
  it.each([
    ['declined', { payment_status: 'failed', payment_failure_code: 'generic_decline' }],
    ['needs_authentication', { payment_status: 'failed', payment_failure_code: 'authentication_required' }],
    ['none', { payment_status: 'failed', payment_failure_code: 'no_card_on_file' }],
    ['time_out', { payment_status: 'paid', payment_failure_code: null }],
  ])('has its own card (%s), until the charge is tried again', async (card, expected) => {
    await addFreeDriver(store.point);
    const { order } = (await place(store, { sandbox: { card } })).body;
    await untilOrder(store, order.id, expected);
    if (card === 'time_out') return;
    const path = `/orders/${order.id}/charge`;
    expect((await ask(path, { method: 'POST', key: store.apiKey })).status).toBe(202);
    await untilOrder(store, order.id, { payment_status: 'paid' });
  });

  it('has a text of its own, and the customer gets those of other orders', async () => {
    const customer = { name: 'Jordan Lee', email: 'jordan@example.com', phone: '+14155550188', sms_opt_in: true };
    const textOf = async (sandbox: object | undefined, expected: object) => {
      const { order } = (await place(store, { customer, sandbox })).body;
      await untilOrder(store, order.id, expected);
    };
    await textOf({ text: 'opted_out' }, { sms_status: 'failed', sms_failure_code: '21610' });
    await textOf({ text: 'undelivered' }, { sms_status: 'undelivered', sms_failure_code: '30003' });
    await textOf(undefined, { sms_status: 'delivered' });
  });

  it('has no driver, wherever one is free', async () => {
    await addFreeDriver(store.point);
    const { order } = (await place(store, { sandbox: { driver: 'none' } })).body;
    expect(order).toMatchObject({ status: 'pending_dispatch', waiting_because: 'none_in_radius' });
    expect(await show(store, order.id)).toMatchObject({
      waiting_because: 'none_in_radius',
      pickup_point: { lat: expect.closeTo(store.point.lat, 4), lng: expect.closeTo(store.point.lng, 4) },
    });
    const asked = { method: 'POST', key: store.apiKey, body: { to: 'cancelled' } };
    const { status, body } = await ask(`/sandbox/orders/${order.id}/advance`, asked);
    expect([status, body.error.fields]).toEqual([
      400,
      [{ field: 'to', message: expect.not.stringContaining('cancelled') }],
    ]);
    expect((await place(store)).body.order.status).toBe('driver_assigned');
  });
});
