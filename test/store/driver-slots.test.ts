import { expect, test } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, draftOrder, orderRow, UNSTAMPED } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { openTransaction, untilBlocked } from './transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;
const store = await addStoreRow(sql);

async function driverOf(capacity: number): Promise<string> {
  const driverId = await addDriverRow(sql);
  expect(await storeOf(sql, 'test').correctDriver(driverId, { capacity })).toBe(true);
  return driverId;
}

const inSlot = (driverId: string, slot: number) => ({ driverId, shownMeters: 120, slot });

async function insert(driverId: string, ...slots: number[]): Promise<(string | null)[]> {
  const drafts = await Promise.all(
    slots.map(async (slot) => ({ ...(await draftOrder(sql, store)), driver: inSlot(driverId, slot) })),
  );
  const created = await storeOf(sql, 'test').insertOrders(drafts);
  return drafts.map(({ id }) => (created.get(id) ? id : null));
}

const waiting = async () => (await addOrder(sql, store)).orderId;
const assign = (orderId: string, driverId: string, slot: number) =>
  storeOf(sql, 'me').assignWaiting(orderId, inSlot(driverId, slot));
const slotsOf = async (driverId: string) =>
  (await storeOf(sql).loadFleet([driverId]))[0]?.carried.map(({ slot }) => slot).toSorted();

test('one statement gives a driver as many orders as they carry, and no more', async () => {
  const driverId = await driverOf(3);
  const ids = await insert(driverId, 0, 1, 2, 3);
  expect(ids.map((id) => id !== null)).toEqual([true, true, true, false]);
  expect(await slotsOf(driverId)).toEqual([0, 1, 2]);
});

test('a slot is given once, also within one statement', async () => {
  const driverId = await driverOf(3);
  expect((await insert(driverId, 1, 1)).filter(Boolean)).toHaveLength(1);
  expect(await insert(driverId, 1)).toEqual([null]);
  expect(await assign(await waiting(), driverId, 1)).toEqual({ kind: 'driver_lost' });
  expect(await assign(await waiting(), driverId, 0)).toMatchObject({ kind: 'assigned' });
  expect(await slotsOf(driverId)).toEqual([0, 1]);
});

test("of two processes one gets a driver's last slot", async () => {
  const driverId = await driverOf(2);
  await insert(driverId, 0);
  const [first, second] = [await waiting(), await waiting()];
  const other = await openTransaction(database);
  expect(await storeOf(other.sql, 'other').assignWaiting(first, inSlot(driverId, 1))).toMatchObject({
    kind: 'assigned',
  });
  const mine = assign(second, driverId, 1);
  await untilBlocked(database);
  await other.commit();
  expect(await mine).toEqual({ kind: 'driver_lost' });
  expect(await orderRow(sql, second)).toMatchObject({ status: 'pending_dispatch', driver_id: null });
});

test('after the capacity was lowered a driver gets nothing until what is above it has ended', async () => {
  const driverId = await driverOf(2);
  const [below, above] = await insert(driverId, 0, 1);
  await storeOf(sql, 'test').correctDriver(driverId, { capacity: 1 });
  await storeOf(sql, 'test').pickUpOrder(below as string, driverId, UNSTAMPED);
  await storeOf(sql, 'test').deliverOrder(below as string, driverId, 'a.jpg', UNSTAMPED);
  expect([await insert(driverId, 0), await assign(await waiting(), driverId, 0)]).toEqual([
    [null],
    { kind: 'driver_lost' },
  ]);
  await storeOf(sql, 'test').releaseOrder(above as string, driverId, 'other', UNSTAMPED);
  expect(await insert(driverId, 0)).toEqual([expect.any(String)]);
});

test('a released order forgets its slot, whoever released it', async () => {
  const driverId = await driverOf(2);
  const [, orderId] = await insert(driverId, 0, 1);
  await sql`
    update orders set status = 'pending_dispatch', driver_id = null, sequence = sequence + 1 where id = ${orderId as string}`;
  expect(await orderRow(sql, orderId as string)).toMatchObject({ driver_slot: 0 });
});

test('a driver whose time is up gets nothing, is sent off duty, and keeps their order', async () => {
  const driverId = await driverOf(2);
  await insert(driverId, 0);
  await storeOf(sql, 'test').setDriverDuty(driverId, true, new Date(Date.now() - 1_000));
  expect(await insert(driverId, 1)).toEqual([null]);
  const notices: string[] = [];
  await sql.listen('sameday', (payload) => notices.push(payload));
  await storeOf(sql, 'test').endDuties(10);
  await storeOf(sql, 'test').endDuties(10);
  // It names no process: the one that wrote it reads the driver again, too.
  await expect.poll(() => notices).toEqual([`:driver:${driverId}`]);
  const [driver] = await storeOf(sql).loadFleet([driverId]);
  expect(driver).toMatchObject({ onDuty: false, onDutyUntilMs: null, capacity: 2, carried: [{ slot: 0 }] });
});

test('the end of a duty is set for a driver on duty alone', async () => {
  const driverId = await driverOf(1);
  const until = new Date(Date.now() + 3_600_000);
  expect(await storeOf(sql, 'test').setDutyEnd(driverId, until)).toBe(true);
  expect((await storeOf(sql).loadFleet([driverId]))[0]?.onDutyUntilMs).toBe(until.getTime());
  expect(await storeOf(sql, 'test').setDutyEnd(driverId, null)).toBe(true);
  await storeOf(sql, 'test').setDriverDuty(driverId, false);
  expect([
    await storeOf(sql, 'test').setDutyEnd(driverId, until),
    await storeOf(sql, 'test').setDutyEnd(newId(), until),
  ]).toEqual([false, false]);
});

test('a driver who is deactivated loses every order before its pickup, and keeps those on board', async () => {
  const driverId = await driverOf(3);
  const [board, one, two] = (await insert(driverId, 0, 1, 2)) as string[];
  await storeOf(sql, 'test').pickUpOrder(board as string, driverId, UNSTAMPED);
  const outcome = await storeOf(sql, 'test').deactivateDriver(driverId);
  expect(outcome?.released.map(({ id }) => id).toSorted()).toEqual([one, two].toSorted());
  expect(outcome?.carriedOrderIds).toEqual([board]);
});

test('a driver who is deactivated is locked before their orders, as one who releases an order is', async () => {
  const driverId = await driverOf(1);
  const [orderId = null] = await insert(driverId, 0);
  const { sql: other, commit } = await openTransaction(database);
  await other`select from drivers where id = ${driverId} for no key update`;
  const deactivating = storeOf(sql, 'test').deactivateDriver(driverId);
  await untilBlocked(database);
  expect(await other`select id from orders where id = ${orderId} for update skip locked`).toHaveLength(1);
  await commit();
  expect((await deactivating)?.released).toHaveLength(1);
});

test('a driver with several orders is one row of the list, with their number', async () => {
  const driverId = await driverOf(3);
  const [first] = await insert(driverId, 0, 1);
  const { rows } = await storeOf(sql).listDrivers({ status: null, text: driverId, since: null, until: null }, {
    limit: 10,
    cursor: null,
  } as never);
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatchObject({ driver_id: driverId, carrying: 2, capacity: 3 });
  expect([first, await storeOf(sql).showDriver(driverId)]).toEqual([
    expect.any(String),
    expect.objectContaining({ carrying: 2 }),
  ]);
});

test('the state of a driver holds every order, those given first before the others', async () => {
  const driverId = await driverOf(2);
  const ids = [...(await insert(driverId, 1)), ...(await insert(driverId, 0))];
  const state = await storeOf(sql).findDriverState(driverId);
  expect(state?.orders.map(({ id }) => id)).toEqual(ids);
  expect(state?.orders.map(({ carried }) => [carried.slot, carried.step])).toEqual([
    [1, 'to_fetch'],
    [0, 'to_fetch'],
  ]);
  expect(state).toMatchObject({ onDuty: true, capacity: 2, vehicle: 'car', onDutyUntil: null });
});
