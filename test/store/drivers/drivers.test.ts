import { expect, test } from 'vitest';
import { hashSecret, newId, newSecret } from '../../../src/domain/ids.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { driverState } from '../../harness/driver-state.ts';
import { addDriverRow, addOrder, addStoreRow, UNSTAMPED } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { orderOf } from '../../matcher/carrying.ts';
import { noticesDuring, openTransaction } from '../transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;

const NOW = Date.parse('2026-03-01T12:00:00.123Z');
const at = (driverId: string, lng: number, atMs: number) => ({ driverId, lat: 37.5, lng, atMs });
const positionOf = async (driverId: string) => (await storeOf(sql).loadFleet([driverId]))[0]?.position;

test('a new driver is off duty, is found by their token, and a notice is sent', async () => {
  const [id, token] = [newId(), newSecret('driver_token')];
  const driver = { id, name: 'Ada "Fast" O’Neil', phone: '+14155550111', tokenHash: hashSecret(token) };
  const notices = await noticesDuring(database, () =>
    storeOf(sql, 'me').createDriver({ ...driver, tierIds: ['standard', 'priority'] }),
  );
  expect(notices.toSorted()).toEqual([`me:driver:${id}`, `table:token:${id}`]);
  expect(await storeOf(sql).findDriverByToken(hashSecret(token))).toEqual({ driverId: id });
  expect(await storeOf(sql).findDriverByToken(hashSecret('another'))).toBeNull();
  expect(await storeOf(sql).findDriverState(id)).toEqual({
    ...driverState(false),
    driverId: id,
    name: driver.name,
    tokenHash: driver.tokenHash,
  });
  expect(await storeOf(sql).loadFleet([id])).toEqual([
    {
      id,
      tierIds: ['standard', 'priority'],
      onDuty: false,
      position: null,
      freeSinceMs: expect.any(Number),
      carried: [],
      capacity: 1,
      vehicle: 'car',
      onDutyUntilMs: null,
    },
  ]);
});

test('a driver drives a car unless told otherwise', async () => {
  const vehicleOf = async (id: string) => (await storeOf(sql).showDriver(id))?.vehicle;
  const driver = { name: 'Bo', phone: '+14155550112', tierIds: ['standard'] };
  const [car, bike] = [newId(), newId()];
  const tokenHash = () => hashSecret(newSecret('driver_token'));
  await storeOf(sql, 'me').createDriver({ ...driver, id: car, tokenHash: tokenHash() });
  await storeOf(sql, 'me').createDriver({ ...driver, id: bike, tokenHash: tokenHash(), vehicle: 'bike' });
  expect(await Promise.all([car, bike].map(vehicleOf))).toEqual(['car', 'bike']);
  expect(await storeOf(sql, 'me').correctDriver(bike, { vehicle: 'van' })).toBe(true);
  expect(await vehicleOf(bike)).toBe('van');
  expect(await storeOf(sql, 'me').correctDriver(newId(), { vehicle: 'van' })).toBe(false);
});

test('coming on duty sends a notice and counts as free since now; repeating it keeps that time', async () => {
  const id = await addDriverRow(sql);
  await storeOf(sql, 'me').setDriverDuty(id, false);
  await sql`update drivers set free_since = now() - interval '1 hour' where id = ${id}`;
  const freeSince = async () => (await storeOf(sql).loadFleet([id]))[0]?.freeSinceMs ?? 0;
  const longAgo = await freeSince();
  const notices = await noticesDuring(database, async () => {
    expect(await storeOf(sql, 'me').setDriverDuty(id, true)).toEqual({ onDuty: true });
  });
  expect(notices).toEqual([`me:driver:${id}`]);
  const since = await freeSince();
  expect(since).toBeGreaterThan(longAgo);
  await storeOf(sql, 'me').setDriverDuty(id, true);
  expect(await freeSince()).toBe(since);
  expect(await storeOf(sql, 'me').setDriverDuty(newId(), true)).toBeNull();
});

async function withToken(): Promise<{ id: string; tokenHash: string }> {
  const id = await addDriverRow(sql);
  return { id, tokenHash: (await storeOf(sql).findDriverState(id))?.tokenHash ?? '' };
}

/** Expects that nobody takes them for a driver. */
async function expectGone({ id, tokenHash }: { id: string; tokenHash: string }): Promise<void> {
  const store = storeOf(sql, 'me');
  expect(await store.findDriverByToken(tokenHash)).toBeNull();
  expect(await store.setDriverDuty(id, true)).toBeNull();
  expect(await store.loadFleet([id])).toEqual([]);
  expect(await store.findDriverState(id)).toBeNull();
}

test('a deactivated driver leaves the fleet, and the order before its pickup waits for the next one', async () => {
  const driver = await withToken();
  const { orderId } = await addOrder(sql, await addStoreRow(sql), { driverId: driver.id });
  const notices = await noticesDuring(database, async () => {
    const deactivated = await storeOf(sql, 'me').deactivateDriver(driver.id);
    expect(deactivated).toMatchObject({ released: [{ id: orderId, sequence: 3 }], carriedOrderIds: [] });
  });
  expect(notices.toSorted()).toEqual([`me:driver:${driver.id}`, `me:order:${orderId}`]);
  await expectGone(driver);
  const [order] = await sql`select driver_id, status, assigned_at from orders where id = ${orderId}`;
  expect({ ...order }).toEqual({ driver_id: null, status: 'pending_dispatch', assigned_at: null });
  const [event] = await sql`select type, data from order_events where order_id = ${orderId} and sequence = 3`;
  expect({ ...event }).toEqual({
    type: 'released',
    data: { driver_id: driver.id, reason: 'driver_deactivated' },
  });
  const next = await addDriverRow(sql);
  expect(await storeOf(sql, 'me').assignWaiting(orderId, { driverId: next, shownMeters: 1 })).toMatchObject({
    kind: 'assigned',
  });
});

test('a driver who is deactivated with a parcel in hand ends that order, and does nothing else', async () => {
  const store = storeOf(sql, 'me');
  const driver = await withToken();
  const { id, tokenHash } = driver;
  const { orderId } = await addOrder(sql, await addStoreRow(sql), { driverId: id });
  await store.pickUpOrder(orderId, id, UNSTAMPED);
  expect(await store.deactivateDriver(id)).toEqual({ released: [], carriedOrderIds: [orderId] });
  expect(await store.findDriverByToken(tokenHash)).toEqual({ driverId: id });
  expect(await store.findDriverState(id)).toMatchObject({
    onDuty: false,
    orders: [{ id: orderId, status: 'picked_up' }],
  });
  expect(await store.loadFleet([id])).toMatchObject([{ id, onDuty: false, carried: [{ orderId }] }]);
  expect((await store.loadFleet()).map((each) => each.id)).toContain(id);
  expect(await store.setDriverDuty(id, true)).toBeNull();
  await store.markUndeliverable(orderId, id, 'refused', UNSTAMPED);
  expect(await store.findDriverByToken(tokenHash)).toEqual({ driverId: id });
  expect(await store.returnOrder(orderId, id, UNSTAMPED)).toMatchObject({ status: 'returned' });
  await expectGone(driver);
});

test('deactivating a driver without an order, or again, gives nothing back; an unknown one is told apart', async () => {
  const store = storeOf(sql, 'me');
  const driver = await withToken();
  const notices = await noticesDuring(database, async () => {
    for (const _ of Array(2)) {
      expect(await store.deactivateDriver(driver.id)).toEqual({ released: [], carriedOrderIds: [] });
    }
    expect(await store.deactivateDriver(newId())).toBeNull();
  });
  expect(notices).toEqual(Array(2).fill(`me:driver:${driver.id}`));
  await expectGone(driver);
});

test('the fleet is the same for any size of the parts in which it is read', async () => {
  for (const _ of Array(5)) await addDriverRow(sql);
  const whole = await storeOf(sql).loadFleet();
  const idsOf = (fleet: typeof whole) => fleet.map(({ id }) => id).toSorted();
  expect(whole.length).toBeGreaterThanOrEqual(5);
  for (const part of [1, 2, whole.length, whole.length + 1]) {
    expect(idsOf(await storeOf(sql).loadFleet(undefined, part))).toEqual(idsOf(whole));
  }
});

test('a driver of the fleet carries an order until it is delivered', async () => {
  const [busy, free] = [await addDriverRow(sql), await addDriverRow(sql)];
  const { orderId } = await addOrder(sql, await addStoreRow(sql), { driverId: busy });
  const carried = async () =>
    Object.fromEntries(
      (await storeOf(sql).loadFleet([busy, free, newId()])).map((driver) => [driver.id, orderOf(driver)]),
    );
  expect(await carried()).toEqual({ [busy]: orderId, [free]: null });
  await storeOf(sql, 'me').pickUpOrder(orderId, busy, UNSTAMPED);
  expect(await carried()).toEqual({ [busy]: orderId, [free]: null });
  expect((await storeOf(sql).findDriverState(busy))?.orders[0]).toMatchObject({
    id: orderId,
    status: 'picked_up',
    sequence: 3,
    payoutCents: 550,
    storeName: 'Corner Market',
    dropoff: { name: 'Jordan Lee', phone: '+14155550123', line1: '401 Valencia St', line2: null, zip: '94103' },
  });
  const states = await storeOf(sql).findDriverStates([free, newId(), busy]);
  expect(states.size).toBe(2);
  expect(states.get(free)).toEqual({ ...driverState(true), driverId: free, tokenHash: expect.any(String) });
  expect(states.get(busy)).toEqual(await storeOf(sql).findDriverState(busy));
  await storeOf(sql, 'me').deliverOrder(orderId, busy, 'photo.webp', UNSTAMPED);
  expect(await carried()).toEqual({ [busy]: null, [free]: null });
  expect(await storeOf(sql).findDriverState(busy)).toEqual({
    ...driverState(true),
    driverId: busy,
    tokenHash: expect.any(String),
  });
});

test('a position is kept to the millisecond and never replaced by an older one', async () => {
  const id = await addDriverRow(sql);
  await storeOf(sql).writePositions([at(id, -122.1, NOW)]);
  expect(await positionOf(id)).toEqual({ lat: 37.5, lng: -122.1, atMs: NOW });
  await storeOf(sql).writePositions([at(id, -122.2, NOW - 1)]);
  expect(await positionOf(id)).toEqual({ lat: 37.5, lng: -122.1, atMs: NOW });
  await storeOf(sql).writePositions([at(id, -122.4, NOW + 1)]);
  expect(await positionOf(id)).toEqual({ lat: 37.5, lng: -122.4, atMs: NOW + 1 });
});

test('positions of many drivers are written in one statement, and no positions are no error', async () => {
  const ids = await Promise.all(Array.from({ length: 30 }, () => addDriverRow(sql)));
  await storeOf(sql).writePositions([]);
  await storeOf(sql).writePositions(ids.map((id, index) => at(id, -100 - index, NOW + index)));
  const fleet = new Map((await storeOf(sql).loadFleet(ids)).map((driver) => [driver.id, driver.position]));
  expect(ids.map((id) => fleet.get(id))).toEqual(
    ids.map((_, index) => ({ lat: 37.5, lng: -100 - index, atMs: NOW + index })),
  );
});

test('two processes that write the same positions in different orders do not deadlock', async () => {
  const ids = await Promise.all(Array.from({ length: 50 }, () => addDriverRow(sql)));
  for (let round = 0; round < 5; round++) {
    const positions = ids.map((id) => at(id, -120, NOW + round));
    await Promise.all([storeOf(sql).writePositions(positions), storeOf(sql).writePositions(positions.toReversed())]);
  }
  expect(await positionOf(ids[0] as string)).toMatchObject({ atMs: NOW + 4 });
});

test('the write of positions does not wait for the disk, and the next commit of its connection does', async () => {
  const id = await addDriverRow(sql);
  const { sql: own, commit } = await openTransaction(database);
  const setting = async () => (await own`show synchronous_commit`)[0]?.synchronous_commit;
  await commit();
  await own.unsafe('set synchronous_commit = on').simple();
  await own.unsafe('begin').simple();
  await storeOf(own).writePositions([at(id, -122.1, NOW)]);
  expect(await setting()).toBe('off');
  await commit();
  expect(await setting()).toBe('on');
});
