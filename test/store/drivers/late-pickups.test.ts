import { expect, test } from 'vitest';
import { LATE_PICKUP_LAG_SECONDS } from '../../../src/store/drivers/late-pickups.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, orderRow } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { openTransaction, untilBlocked } from '../transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;
const store = await addStoreRow(sql);

const me = storeOf(sql, 'me');
/** What a phone kept while it had no network. */
const kept = (actionId: string | null = null) => ({ actionId, capturedAt: new Date(Date.now() + 1_000) });

/** An order that a driver lost by silence. */
async function lost() {
  const driverId = await addDriverRow(sql);
  const { orderId } = await addOrder(sql, store, { driverId });
  await me.releaseFromSilent(orderId, driverId, 0);
  return { orderId, driverId };
}

async function nextDriver(orderId: string): Promise<string> {
  const next = await addDriverRow(sql);
  expect(await me.assignWaiting(orderId, { driverId: next, shownMeters: 1 })).toMatchObject({ kind: 'assigned' });
  return next;
}

test('a former driver who fetched the parcel in a dead zone has the order again, once', async () => {
  const { orderId, driverId } = await lost();
  const next = await nextDriver(orderId);
  expect(await me.pickUpLate(orderId, driverId, kept('tap'))).toMatchObject({ status: 'picked_up', driverId });
  expect(await orderRow(sql, orderId)).toMatchObject({
    driver_id: driverId,
    driver_slot: 0,
    status: 'picked_up',
  });
  expect(await me.findAction(driverId, 'tap')).toMatchObject({ orderId, status: 'picked_up' });
  expect(await me.pickUpLate(orderId, driverId, kept('tap'))).toBeNull();
  expect(await me.pickUpOrder(orderId, next, kept())).toBeNull();
  expect(await me.deliverOrder(orderId, driverId, 'a.jpg', kept())).toMatchObject({ status: 'delivered' });
  expect((await me.loadFleet([next]))[0]?.carried).toEqual([]);
});

test('it is judged by the assignment of the driver who did it, not by that of the next one', async () => {
  const { orderId, driverId } = await lost();
  const [first] = await sql`
    update order_events set at = at - interval '20 minutes', data = data || '{"distance_meters": 700}'
    where order_id = ${orderId} and type = 'driver_assigned' returning at`;
  await nextDriver(orderId);
  const assignedAtMs = first?.at.getTime();
  expect((await me.findTrip(orderId, driverId))?.trip).toMatchObject({ assignedAtMs, approachMeters: 700 });
});

test('its events are steps of the statuses, in the order’s history and as stores are told', async () => {
  const { orderId, driverId } = await lost();
  const next = await nextDriver(orderId);
  await me.pickUpLate(orderId, driverId, kept());
  const history = await sql`select type, data from order_events where order_id = ${orderId} order by sequence`;
  const [first] = history.filter(({ type }) => type === 'driver_assigned');
  expect(history.slice(-4)).toMatchObject([
    { type: 'driver_assigned', data: { driver_id: next } },
    { type: 'released', data: { driver_id: next, reason: 'other' } },
    { type: 'driver_assigned', data: first?.data },
    { type: 'picked_up', data: { driver_id: driverId } },
  ]);
  await me.numberEvents();
  const told = await sql`
    select sequence, type, status, driver_id, details from store_events where order_id = ${orderId} order by number`;
  expect(told.slice(-4)).toEqual([
    { sequence: 4, type: 'order.assigned', status: 'driver_assigned', driver_id: next, details: null },
    { sequence: 5, type: 'order.released', status: 'pending_dispatch', driver_id: null, details: { reason: 'other' } },
    { sequence: 6, type: 'order.assigned', status: 'driver_assigned', driver_id: driverId, details: null },
    { sequence: 7, type: 'order.picked_up', status: 'picked_up', driver_id: driverId, details: null },
  ]);
  const jobs = await sql`select queue from outbox where order_id = ${orderId} order by queue`;
  expect(jobs.filter(({ queue }) => queue === 'charge')).toHaveLength(1);
});

test('an order that waits again is theirs too, and is not assigned afterwards', async () => {
  const { orderId, driverId } = await lost();
  expect(await me.pickUpLate(orderId, driverId, kept())).toMatchObject({ driverId, sequence: 5 });
  const types = await sql`select type from order_events where order_id = ${orderId} order by sequence`;
  expect(types.map(({ type }) => type)).toEqual([
    'created',
    'driver_assigned',
    'released',
    'driver_assigned',
    'picked_up',
  ]);
  const other = await addDriverRow(sql);
  expect(await me.assignWaiting(orderId, { driverId: other, shownMeters: 1 })).toEqual({ kind: 'order_gone' });
});

test('the next driver who has fetched it keeps it', async () => {
  const { orderId, driverId } = await lost();
  const next = await nextDriver(orderId);
  await me.pickUpOrder(orderId, next, kept());
  expect(await me.pickUpLate(orderId, driverId, kept())).toBeNull();
  expect(await orderRow(sql, orderId)).toMatchObject({ driver_id: next });
});

test('a phone whose clock is a little behind loses no pickup', async () => {
  const { orderId, driverId } = await lost();
  const [{ at } = { at: new Date() }] = await sql<{ at: Date }[]>`
    select at from order_events where order_id = ${orderId} and type = 'driver_assigned'`;
  const behind = (seconds: number) => ({ actionId: null, capturedAt: new Date(at.getTime() - seconds * 1_000) });
  expect(await me.pickUpLate(orderId, driverId, behind(LATE_PICKUP_LAG_SECONDS + 1))).toBeNull();
  expect(await me.pickUpLate(orderId, driverId, behind(LATE_PICKUP_LAG_SECONDS - 1))).toMatchObject({
    status: 'picked_up',
  });
});

test('a driver whose slot is given away in the same moment has the order in another one', async () => {
  const { orderId, driverId } = await lost();
  await sql`update drivers set capacity = 2 where id = ${driverId}`;
  const { orderId: next } = await addOrder(sql, store);
  const other = await openTransaction(database);
  await other.sql`
    update orders set status = 'driver_assigned', driver_id = ${driverId}, driver_slot = 0 where id = ${next}`;
  const late = me.pickUpLate(orderId, driverId, kept());
  await untilBlocked(database);
  await other.commit();
  expect(await late).toMatchObject({ status: 'picked_up', driverId });
  expect(await orderRow(sql, orderId)).toMatchObject({ driver_slot: 1 });
});

test('nothing is taken back by a driver who gave it up, never had it, has no room, or had not fetched it', async () => {
  const gaveBack = await addDriverRow(sql);
  const { orderId } = await addOrder(sql, store, { driverId: gaveBack });
  await me.releaseOrder(orderId, gaveBack, 'other', kept());
  expect(await me.pickUpLate(orderId, gaveBack, kept())).toBeNull();
  expect(await me.pickUpLate(orderId, await addDriverRow(sql), kept())).toBeNull();
  const full = await lost();
  await addOrder(sql, store, { driverId: full.driverId });
  expect(await me.pickUpLate(full.orderId, full.driverId, kept())).toBeNull();
  const early = await lost();
  for (const capturedAt of [null, new Date(0)]) {
    expect(await me.pickUpLate(early.orderId, early.driverId, { actionId: null, capturedAt })).toBeNull();
  }
  await me.cancelOrder(early.orderId, 'operator', 'other');
  expect(await me.pickUpLate(early.orderId, early.driverId, kept())).toBeNull();
});
