import { expect, test } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, draftOrder, orderRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { noticesDuring, openTransaction, untilBlocked } from './transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;
const store = await addStoreRow(sql);

const near = (driverId: string) => ({ driverId, shownMeters: 120.6 });
const waitingOrder = async () => (await addOrder(sql, store)).orderId;
const jobsOf = async (orderId: string) => {
  const rows = await sql`
    select queue, done_at is not null as done from outbox where order_id = ${orderId} order by queue`;
  return Object.fromEntries(rows.map(({ queue, done }) => [queue, done]));
};

test('an assignment of a waiting order makes its charge owed and finishes its redispatch job', async () => {
  const [orderId, driverId] = [await waitingOrder(), await addDriverRow(sql)];
  const notices = await noticesDuring(database, async () => {
    const outcome = await storeOf(sql, 'me').assignWaiting(orderId, near(driverId));
    expect(outcome).toMatchObject({ kind: 'assigned', outbox: [{ queue: 'charge', orderId, relays: 0 }] });
  });
  expect(notices).toEqual([`me:order:${orderId}`]);
  expect(await orderRow(sql, orderId)).toMatchObject({
    status: 'driver_assigned',
    driver_id: driverId,
    payment_status: 'processing',
    sequence: 2,
    assigned_at: expect.any(Date),
  });
  expect(await jobsOf(orderId)).toEqual({ charge: false, redispatch: true, sms: false });
  const [event] = await sql`select type, data from order_events where order_id = ${orderId} and sequence = 2`;
  expect({ ...event }).toEqual({ type: 'driver_assigned', data: { driver_id: driverId, distance_meters: 121 } });
});

test('of two drivers for one order at the same moment one gets it, for the other it is gone', async () => {
  const [orderId, first, second] = [await waitingOrder(), await addDriverRow(sql), await addDriverRow(sql)];
  const other = await openTransaction(database);
  expect(await storeOf(other.sql, 'other').assignWaiting(orderId, near(first))).toMatchObject({ kind: 'assigned' });
  const mine = storeOf(sql, 'me').assignWaiting(orderId, near(second));
  await untilBlocked(database);
  await other.commit();
  expect(await mine).toEqual({ kind: 'order_gone' });
  expect(await orderRow(sql, orderId)).toMatchObject({ driver_id: first, sequence: 2 });
  expect(await jobsOf(orderId)).toEqual({ charge: false, redispatch: true, sms: false });
});

test('of two drivers for one order at the same moment the second gets it if the first is rolled back', async () => {
  const [orderId, first, second] = [await waitingOrder(), await addDriverRow(sql), await addDriverRow(sql)];
  const other = await openTransaction(database);
  await storeOf(other.sql, 'other').assignWaiting(orderId, near(first));
  const mine = storeOf(sql, 'me').assignWaiting(orderId, near(second));
  await untilBlocked(database);
  await other.rollback();
  expect(await mine).toMatchObject({ kind: 'assigned' });
  expect(await orderRow(sql, orderId)).toMatchObject({ driver_id: second, sequence: 2 });
});

test('a concurrent change that leaves the order waiting does not refuse its driver', async () => {
  const [orderId, driverId] = [await waitingOrder(), await addDriverRow(sql)];
  const other = await openTransaction(database);
  await other.sql`update orders set sms_status = 'sent', sequence = sequence + 1 where id = ${orderId}`;
  const mine = storeOf(sql, 'me').assignWaiting(orderId, near(driverId));
  await untilBlocked(database);
  await other.commit();
  expect(await mine).toMatchObject({ kind: 'assigned' });
  expect(await orderRow(sql, orderId)).toMatchObject({ driver_id: driverId, sms_status: 'sent', sequence: 3 });
});

test('of two orders for one driver at the same moment one gets the driver, the other keeps waiting', async () => {
  const [first, second, driverId] = [await waitingOrder(), await waitingOrder(), await addDriverRow(sql)];
  const other = await openTransaction(database);
  await storeOf(other.sql, 'other').assignWaiting(first, near(driverId));
  const mine = storeOf(sql, 'me').assignWaiting(second, near(driverId));
  await untilBlocked(database);
  await other.commit();
  expect(await mine).toEqual({ kind: 'driver_lost' });
  expect(await orderRow(sql, second)).toMatchObject({ status: 'pending_dispatch', driver_id: null, sequence: 1 });
  expect(await jobsOf(second)).toEqual({ redispatch: false, sms: false });
});

test('a driver who gets a new order at the same moment is lost for the waiting one, and vice versa', async () => {
  const [orderId, driverId] = [await waitingOrder(), await addDriverRow(sql)];
  const fresh = await draftOrder(sql, store, { driverId });
  const other = await openTransaction(database);
  await storeOf(other.sql, 'other').insertOrders([fresh]);
  const mine = storeOf(sql, 'me').assignWaiting(orderId, near(driverId));
  await untilBlocked(database);
  await other.commit();
  expect(await mine).toEqual({ kind: 'driver_lost' });

  const another = await addDriverRow(sql);
  const assigning = await openTransaction(database);
  await storeOf(assigning.sql, 'other').assignWaiting(orderId, near(another));
  const inserting = storeOf(sql, 'me').insertOrders([await draftOrder(sql, store, { driverId: another })]);
  await untilBlocked(database);
  await assigning.commit();
  expect((await inserting).size).toBe(0);
});

test('concurrent assignments give each of five orders one of five drivers', async () => {
  const orders = await Promise.all(Array.from({ length: 5 }, waitingOrder));
  const drivers = await Promise.all(Array.from({ length: 5 }, () => addDriverRow(sql)));
  const pairs = orders.flatMap((orderId) => drivers.map((driverId) => ({ orderId, driverId })));
  const attempt = async (pair: { orderId: string; driverId: string }): Promise<string> => {
    for (;;) {
      try {
        return (await storeOf(sql, 'me').assignWaiting(pair.orderId, near(pair.driverId))).kind;
      } catch (error) {
        // Of statements that deadlock one is ended and may be sent again.
        if ((error as { code?: string }).code !== '40P01') throw error;
      }
    }
  };
  const kinds = await Promise.all(pairs.map(attempt));
  const assigned = pairs.filter((_, index) => kinds[index] === 'assigned');
  expect(assigned.map(({ orderId }) => orderId).toSorted()).toEqual(orders.toSorted());
  expect(assigned.map(({ driverId }) => driverId).toSorted()).toEqual(drivers.toSorted());
});

test('a driver who is busy, off duty, deactivated or unknown is lost, and nothing is written', async () => {
  const orderId = await waitingOrder();
  const busy = await addDriverRow(sql);
  await addOrder(sql, store, { driverId: busy });
  const offDuty = await addDriverRow(sql);
  await storeOf(sql, 'test').setDriverDuty(offDuty, false);
  const gone = await addDriverRow(sql);
  await storeOf(sql, 'test').deactivateDriver(gone);
  const notices = await noticesDuring(database, async () => {
    for (const driverId of [busy, offDuty, gone, newId()]) {
      expect(await storeOf(sql, 'me').assignWaiting(orderId, near(driverId))).toEqual({ kind: 'driver_lost' });
    }
  });
  expect(notices).toEqual([]);
  expect(await orderRow(sql, orderId)).toMatchObject({ status: 'pending_dispatch', sequence: 1 });
  expect(await jobsOf(orderId)).toEqual({ redispatch: false, sms: false });
});

test('an order that is assigned, past its time or unknown is gone for any driver', async () => {
  const taken = (await addOrder(sql, store, { driverId: await addDriverRow(sql) })).orderId;
  const late = await waitingOrder();
  await sql`update orders set expires_at = now() - interval '1 second' where id = ${late}`;
  const driverId = await addDriverRow(sql);
  for (const orderId of [taken, late, newId()]) {
    expect(await storeOf(sql, 'me').assignWaiting(orderId, near(driverId))).toEqual({ kind: 'order_gone' });
    expect(await storeOf(sql, 'me').assignWaiting(orderId, near(newId()))).toEqual({ kind: 'order_gone' });
  }
});

test('a second assignment makes no second charge owed', async () => {
  const paid = (await addOrder(sql, store, { driverId: await addDriverRow(sql) })).orderId;
  const owing = (await addOrder(sql, store, { driverId: await addDriverRow(sql) })).orderId;
  await sql`
    update orders set status = 'pending_dispatch', driver_id = null, payment_status =
      case id when ${paid} then 'paid' else 'processing' end where id in (${paid}, ${owing})`;
  for (const [orderId, payment] of [
    [paid, 'paid'],
    [owing, 'processing'],
  ] as const) {
    const outcome = await storeOf(sql, 'me').assignWaiting(orderId, near(await addDriverRow(sql)));
    expect(outcome).toEqual({ kind: 'assigned', outbox: [] });
    expect((await orderRow(sql, orderId)).payment_status).toBe(payment);
    expect(await sql`select from outbox where order_id = ${orderId} and queue = 'charge'`).toHaveLength(1);
  }
});
