import { expect, test } from 'vitest';
import { useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, UNSTAMPED } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { addWaiting, leaseOf, MINUTE, nowMs } from '../plan-world.ts';

const { sql } = await useFreshDatabase();
const store = await addStoreRow(sql);
const me = storeOf(sql, 'me');
const numberAll = async () => {
  while ((await me.numberEvents()).isMore);
};

/**
 * A delivery of the driver that was assigned and handed over so many minutes ago, and promised `promised`
 * minutes ago. Its events are as old.
 */
async function deliver(driverId: string, assigned: number, handedOver: number, promised = 0): Promise<void> {
  const { orderId } = await addOrder(sql, store, { driverId });
  await me.pickUpOrder(orderId, driverId, UNSTAMPED);
  await me.deliverOrder(orderId, driverId, 'photo', UNSTAMPED);
  const ago = (minutes: number) => sql`now() - make_interval(mins => ${minutes})`;
  await sql`
    update orders set assigned_at = ${ago(assigned)}, delivered_at = ${ago(handedOver)}, deliver_by = ${ago(promised)}
    where id = ${orderId}`;
  await sql`update unnumbered_events set at = ${ago(handedOver)} where order_id = ${orderId}`;
  await numberAll();
}

test('without deliveries and plans there is nothing to tell of them', async () => {
  expect(await me.readDeliveryStats()).toEqual({
    deliveries_per_hour: { last_hour: 0, last_day: 0 },
    parcels_per_trip: null,
    late_share: null,
    planned_ahead: { orders: 0, minutes_to_pickup: null },
  });
});

test('counts deliveries by the hour, trips by what a driver carried together, and the late ones', async () => {
  const [one, two] = [await addDriverRow(sql), await addDriverRow(sql)];
  await deliver(two, 1_600, 1_500, 1_550);
  await deliver(two, 1_520, 1_441);
  // Two trips of one driver, the second of which begins as the first one ends; and one of another, meanwhile.
  await deliver(one, 120, 90);
  await deliver(two, 115, 70);
  await deliver(one, 110, 80, 85);
  await deliver(one, 80, 70);
  await deliver(one, 75, 40);
  await deliver(two, 30, 10);
  expect(await me.readDeliveryStats()).toMatchObject({
    deliveries_per_hour: { last_hour: 2, last_day: 0.25 },
    parcels_per_trip: 1.5,
    late_share: 0.1667,
  });
});

test('finds the deliveries of the day behind events that were deleted by age, and where all are older', async () => {
  await sql`update event_head set pruned_number = 3, pruned_at = now()`;
  await sql`delete from store_events where number <= 3`;
  expect(await me.readDeliveryStats()).toMatchObject({ parcels_per_trip: 1.5 });
  await sql`update store_events set at = at - interval '3 days'`;
  await sql`update orders set delivered_at = delivered_at - interval '3 days'`;
  expect(await me.readDeliveryStats()).toMatchObject({ late_share: null, deliveries_per_hour: { last_day: 0 } });
  await deliver(await addDriverRow(sql), 5, 1);
  expect(await me.readDeliveryStats()).toMatchObject({ parcels_per_trip: 1, late_share: 0 });
});

test('counts the waiting orders that somebody is meant for, and how soon', async () => {
  const driverId = await addDriverRow(sql);
  const [soon, later, past, taken] = [
    await addWaiting(sql, store),
    await addWaiting(sql, store),
    await addWaiting(sql, store),
    await addWaiting(sql, store),
  ];
  const atMs = await nowMs(sql);
  const planIn = (orderId: string, pickup: number, door: number) => ({
    orderId,
    driverId,
    pickupMs: atMs + pickup * MINUTE,
    doorMs: atMs + door * MINUTE,
  });
  const plans = [planIn(soon, 10.5, 30), planIn(later, 20.5, 50), planIn(past, -40, -20), planIn(taken, 5, 10)];
  await me.writePlans(await leaseOf(sql), plans, []);
  await me.assignWaiting(taken, { driverId, shownMeters: 1 });
  const { planned_ahead: ahead } = (await me.readDeliveryStats()) as {
    planned_ahead: { orders: number; minutes_to_pickup: number };
  };
  expect(ahead.orders).toBe(2);
  expect(ahead.minutes_to_pickup).toBeGreaterThan(14);
  expect(ahead.minutes_to_pickup).toBeLessThanOrEqual(15.5);
  await me.setTier('standard', { dispatchMode: 'nearest' });
  expect(await me.readDeliveryStats()).toMatchObject({ planned_ahead: { orders: 0, minutes_to_pickup: null } });
});
