import { expect, it } from 'vitest';
import { TEST_CARDS } from '../../src/sandbox/test-cards.ts';
import { startServiceHere } from '../harness/service-here.ts';
import type { Store } from './clients.ts';
import { useService } from './world.ts';

const world = useService(startServiceHere);
const { addStore, addFreeDriver, ask, place, show, untilOrder, chargesOf, cli } = world;

const drivers = (store: Store, count: number) =>
  Promise.all(Array.from({ length: count }, () => addFreeDriver(store.point)));
const statusOf = async (store: Store): Promise<string> => (await place(store)).body.order.status;
const waits = async (store: Store, orderId: string) => {
  await untilOrder(store, orderId, { status: 'pending_dispatch' });
  return (await show(store, orderId)).waiting_because;
};

it('a store whose card is declined gets three deliveries; further orders wait and say why until it pays', async () => {
  const store = await addStore({ card: TEST_CARDS.declined });
  await drivers(store, 8);
  const failed: string[] = [];
  for (let i = 0; i < 3; i++) {
    const { order } = (await place(store)).body;
    expect(order).toMatchObject({ status: 'driver_assigned', payment_status: 'failed' });
    failed.push(order.id);
  }
  const { status, body } = await place(store);
  expect([status, body.message]).toEqual([
    201,
    'The order was created and waits for a driver; nothing is charged yet.',
  ]);
  expect(body.order).toMatchObject({
    status: 'pending_dispatch',
    payment_status: 'not_charged',
    waiting_because: 'payment_required',
  });
  const { id } = body.order;
  expect(await waits(store, id)).toBe('payment_required');
  const list = await ask<{ orders: { id: string }[] }>('/orders?status=pending_dispatch', {
    key: store.apiKey,
  });
  expect(list.body.orders).toEqual([expect.objectContaining({ id, waiting_because: 'payment_required' })]);
  expect(await (await fetch(`${world.url}/metrics`)).text()).toMatch(
    /sameday_orders_held\{reason="payment_required"\} 1/,
  );
  expect(await cli<object>('retailer', 'show', store.retailerId)).toMatchObject({
    held_because: 'payment_required',
    unpaid_orders: 3,
    failed_charges: 3,
    waiting_orders: 1,
  });
  expect(await cli<object>('order', 'show', id)).toMatchObject({ waiting_because: 'payment_required' });
  expect(await cli<object>('stats')).toMatchObject({ held_stores: { payment_required: 1 }, failed_charges: 3 });

  await cli<object>('retailer', 'set-card', store.retailerId, '--test-card', 'ok');
  await untilOrder(store, id, { status: 'driver_assigned', payment_status: 'paid' });
  await expect
    .poll(() => cli<object>('retailer', 'show', store.retailerId))
    .toMatchObject({
      held_because: null,
      unpaid_orders: 0,
      payment_failed_at: null,
    });
  // Memory hears of the payment a moment after the tables.
  await expect.poll(() => statusOf(store)).toBe('driver_assigned');

  expect(await cli<object>('order', 'charge', failed[0] as string, '--yes')).toEqual({
    order_id: failed[0],
    payment_status: 'processing',
  });
  expect(await cli<object>('retailer', 'charge-failed', store.retailerId, '--yes')).toMatchObject({
    charges_retried: 2,
  });
  await expect(cli<object>('order', 'charge', failed[0] as string, '--yes')).rejects.toThrow('whose charge failed');
  for (const orderId of failed) {
    await untilOrder(store, orderId, { payment_status: 'paid' });
    expect(chargesOf(orderId).map(({ key, answer }) => [key, answer.kind])).toEqual([
      [`${orderId}:1`, 'declined'],
      [`${orderId}:2`, 'paid'],
    ]);
  }
});

it('a suspended store’s orders under way go on, its waiting ones wait, and all of them can be cancelled at once', async () => {
  const store = await addStore();
  const [driver] = await drivers(store, 1);
  const carried = (await place(store)).body.order;
  expect(carried.status).toBe('driver_assigned');
  const waiting = [(await place(store)).body.order.id, (await place(store)).body.order.id];
  await cli<object>('retailer', 'suspend', store.retailerId);
  expect((await place(store)).status).toBe(401);
  await drivers(store, 2);
  expect((await driver?.pickUp(carried.id))?.status).toBe(200);
  for (const id of waiting) {
    await expect
      .poll(() => cli<object>('order', 'show', id))
      .toMatchObject({
        waiting_because: 'store_suspended',
        order: { status: 'pending_dispatch', driver_id: null },
      });
  }
  await expect(cli<object>('retailer', 'cancel-waiting', store.retailerId)).rejects.toThrow(
    'This cancels the orders of “Corner Market”: 2 that wait for a driver, and 0 that wait for their time. Add --yes',
  );
  const cancelled = await cli<object>('retailer', 'cancel-waiting', store.retailerId, '--yes');
  expect(cancelled).toEqual({ retailer_id: store.retailerId, orders_cancelled: 2 });
  expect(await cli<object>('retailer', 'cancel-waiting', store.retailerId)).toMatchObject({ orders_cancelled: 0 });
  await cli<object>('retailer', 'activate', store.retailerId);
  for (const id of waiting) {
    expect(await cli<object>('order', 'show', id)).toMatchObject({
      order: { status: 'cancelled', cancelled_by: 'operator', payment_status: 'not_charged' },
    });
  }
  await expect.poll(() => statusOf(store)).toBe('driver_assigned');
});

it('a store that is active again gets drivers for its waiting orders at once', async () => {
  const store = await addStore();
  const { id } = (await place(store)).body.order;
  await cli<object>('retailer', 'suspend', store.retailerId);
  await drivers(store, 1);
  expect(await cli<object>('order', 'show', id)).toMatchObject({ waiting_because: 'store_suspended' });
  await cli<object>('retailer', 'activate', store.retailerId);
  await untilOrder(store, id, { status: 'driver_assigned' });
});
