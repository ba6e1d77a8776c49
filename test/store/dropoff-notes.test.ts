import { expect, test } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { ORDER_STATUSES } from '../../src/domain/order.ts';
import { MAX_DROPOFF_CHANGES } from '../../src/store/orders/dropoffs.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, orderRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { noticesDuring, openTransaction, untilBlocked } from './transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;
const store = await addStoreRow(sql);

const NOTES = { instructions: "Code 1234\n'); --", leaveAtDoor: true };

test('new notes are stored with an event that holds none of them, and the driver’s process is told', async () => {
  const driverId = await addDriverRow(sql);
  const { orderId } = await addOrder(sql, store, { driverId });
  const statements = storeOf(sql, 'me');
  let changed: unknown;
  const notices = await noticesDuring(database, async () => {
    changed = await statements.changeDropoffNotes(orderId, NOTES);
  });
  expect(changed).toEqual({ id: orderId, sequence: 3, status: 'driver_assigned', driverId, outbox: [] });
  expect(notices).toEqual([`me:order:${orderId}`]);
  const { dropoff_instructions, leave_at_door, sequence } = await orderRow(sql, orderId);
  expect([dropoff_instructions, leave_at_door, sequence]).toEqual([NOTES.instructions, true, 3]);
  const [event] = await sql`select type, data from order_events where order_id = ${orderId} and sequence = 3`;
  expect({ ...event }).toEqual({ type: 'dropoff_changed', data: null });
  expect((await statements.findDriverState(driverId))?.orders[0]?.dropoff).toMatchObject(NOTES);
});

test('from the pickup on, and of an unknown order, nothing is changed', async () => {
  for (const status of ORDER_STATUSES) {
    const { orderId } = await addOrder(sql, store);
    await sql`update orders set status = ${status}, driver_id = ${newId()} where id = ${orderId}`;
    const changed = await storeOf(sql).changeDropoffNotes(orderId, NOTES);
    expect([status, changed !== null]).toEqual([status, ['pending_dispatch', 'driver_assigned'].includes(status)]);
  }
  expect(await storeOf(sql).changeDropoffNotes(newId(), NOTES)).toBeNull();
});

test('the notes of an order are changed only so often, and not by a change that waits for the last one', async () => {
  const { orderId } = await addOrder(sql, store);
  for (let n = 1; n < MAX_DROPOFF_CHANGES; n++) await storeOf(sql).changeDropoffNotes(orderId, NOTES);
  const theirs = await openTransaction(database);
  expect(await storeOf(theirs.sql, 'other').changeDropoffNotes(orderId, NOTES)).not.toBeNull();
  const mine = storeOf(sql).changeDropoffNotes(orderId, NOTES);
  await untilBlocked(database);
  await theirs.commit();
  expect(await mine).toBeNull();
});
