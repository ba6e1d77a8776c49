import { expect, test } from 'vitest';
import { startServiceHere } from '../harness/service-here.ts';
import { useService } from '../service/world.ts';

const world = useService(startServiceHere);
const { addStore, place, untilOrder, cli, cancel, assigned } = world;

const eventsOf = async (orderId: string) =>
  (await world.sql`select type from order_events where order_id = ${orderId} order by sequence`).map((row) => row.type);

test('an order is cancelled by its own store only, and for a reason that is known', async () => {
  const { store, id: orderId } = await assigned();
  expect((await cancel(await addStore(), orderId)).status).toBe(404);
  expect((await cancel(store, orderId, 'because')).body.error.fields).toMatchObject([{ field: 'reason' }]);
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
