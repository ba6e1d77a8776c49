import { expect, onTestFinished, test } from 'vitest';
import { newId } from '../../../src/domain/ids.ts';
import { placeOnRoute } from '../../../src/store/orders/order-on-route.ts';
import { freshDatabase, useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, draftOrder, orderRow, PICKUP, UNSTAMPED } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { noticesDuring } from '../transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;
const store = await addStoreRow(sql);

async function assignedOrder(): Promise<{ orderId: string; driverId: string }> {
  const driverId = await addDriverRow(sql);
  return { orderId: (await addOrder(sql, store, { driverId })).orderId, driverId };
}
const eventTypes = async (orderId: string) => {
  const rows = await sql`select sequence, type from order_events where order_id = ${orderId} order by 1`;
  return rows.map(({ sequence, type }) => `${sequence} ${type}`);
};
/** Runs `change`, which must change no order and write no event, job or notice. */
async function changesNothing(orderId: string, change: () => Promise<unknown>): Promise<void> {
  const before = [await orderRow(sql, orderId), await eventTypes(orderId)];
  expect(await noticesDuring(database, async () => expect(await change()).toBeNull())).toEqual([]);
  expect([await orderRow(sql, orderId), await eventTypes(orderId)]).toEqual(before);
}

test('an order is picked up, then delivered, each with its time, event and notice', async () => {
  const { orderId, driverId } = await assignedOrder();
  const notices = await noticesDuring(database, async () => {
    expect(await storeOf(sql, 'me').pickUpOrder(orderId, driverId, UNSTAMPED)).toMatchObject({
      id: orderId,
      sequence: 3,
      status: 'picked_up',
      driverId,
    });
    expect(await storeOf(sql, 'me').deliverOrder(orderId, driverId, 'photo.webp', UNSTAMPED)).toMatchObject({
      id: orderId,
      sequence: 4,
      status: 'delivered',
      driverId,
    });
  });
  expect(notices).toEqual([`me:order:${orderId}`, `me:order:${orderId}`]);
  expect(await orderRow(sql, orderId)).toMatchObject({
    status: 'delivered',
    photo_name: 'photo.webp',
    picked_up_at: expect.any(Date),
    delivered_at: expect.any(Date),
  });
  expect(await eventTypes(orderId)).toEqual(['1 created', '2 driver_assigned', '3 picked_up', '4 delivered']);
});

test('an order expires once, when its time is up and not before, and never with a driver', async () => {
  const { orderId } = await addOrder(sql, store);
  await changesNothing(orderId, () => storeOf(sql, 'me').expireOrder(orderId));
  expect(await storeOf(sql).findOverdue(100)).not.toContain(orderId);
  await sql`update orders set expires_at = now() where id = ${orderId}`;
  expect(await storeOf(sql).findOverdue(100)).toContain(orderId);
  expect(await storeOf(sql, 'me').expireOrder(orderId)).toMatchObject({
    id: orderId,
    status: 'expired',
    driverId: null,
  });
  expect(await orderRow(sql, orderId)).toMatchObject({
    status: 'expired',
    reason_code: 'no_driver',
    payment_status: 'not_charged',
    ended_at: expect.any(Date),
  });
  await changesNothing(orderId, () => storeOf(sql, 'me').expireOrder(orderId));
  expect(await storeOf(sql).findOverdue(100)).not.toContain(orderId);

  const { orderId: taken } = await assignedOrder();
  await sql`update orders set expires_at = now() where id = ${taken}`;
  await changesNothing(taken, () => storeOf(sql, 'me').expireOrder(taken));
});

test('a store sees its own order with all its events, and no order of another store', async () => {
  const { orderId, driverId } = await assignedOrder();
  await storeOf(sql, 'me').pickUpOrder(orderId, driverId, UNSTAMPED);
  const order = await storeOf(sql).findStoreOrder(orderId, store.retailerId);
  expect(order).toMatchObject({
    id: orderId,
    status: 'picked_up',
    customer: { name: 'Jordan Lee', email: 'jordan@example.com', phone: '+14155550123', sms_opt_in: true },
    dropoff: { line1: '401 Valencia St', line2: null, city: 'San Francisco', state: 'CA', zip: '94103' },
  });
  expect(order?.events.map(({ type }) => type)).toEqual(['created', 'driver_assigned', 'picked_up']);
  const other = await addStoreRow(sql);
  expect(await storeOf(sql).findStoreOrder(orderId, other.retailerId)).toBeNull();
  expect(await storeOf(sql).findStoreOrder(newId(), store.retailerId)).toBeNull();
  expect(await storeOf(sql).findOrderState(orderId)).toEqual({ status: 'picked_up', driverId });
  expect(await storeOf(sql).findOrderState(newId())).toBeNull();
});

test('the tracking page gets the driver’s first name and nothing of the customer', async () => {
  const { orderId, driverId } = await assignedOrder();
  const { tracking_token: token } = await orderRow(sql, orderId);
  const tracked = await storeOf(sql).findTrackedByToken(token as string);
  expect(tracked).toMatchObject({
    orderId,
    driverId,
    driverFirstName: 'Sam',
    storeName: 'Corner Market',
    hasPhoto: false,
  });
  expect(await storeOf(sql).findTrackedByIds([orderId])).toEqual(new Map([[orderId, tracked]]));
  const text = JSON.stringify(tracked);
  for (const secret of ['Rider', 'Jordan', 'Lee', 'jordan@example.com', '+1415', 'Valencia']) {
    expect(text).not.toContain(secret);
  }
  await storeOf(sql, 'me').pickUpOrder(orderId, driverId, UNSTAMPED);
  await storeOf(sql, 'me').deliverOrder(orderId, driverId, 'photo.webp', UNSTAMPED);
  expect((await storeOf(sql).findTrackedByIds([orderId])).get(orderId)?.hasPhoto).toBe(true);
  expect(await storeOf(sql).findPhotoName(token as string)).toBe('photo.webp');
  expect(await storeOf(sql).findTrackedByToken('nobody’s')).toBeNull();
  expect(await storeOf(sql).findPhotoName('nobody’s')).toBeNull();
});

test('the tracking page and the store get how many doors the driver goes to first', async () => {
  const { orderId, driverId } = await assignedOrder();
  const { orderId: other } = await addOrder(sql, store);
  const doorOf = (id: string, meters: number) => sql`
    update dropoff_addresses set lat = ${PICKUP.lat + meters / 111_195}, lng = ${PICKUP.lng}, accuracy_meters = 10,
      point_source = 'geocoder'
    where id = (select dropoff_address_id from orders where id = ${id})`;
  await doorOf(orderId, 3_000);
  await doorOf(other, 1_000);
  const stops = async (id: string) => {
    const tracked = (await storeOf(sql).findTrackedByIds([id])).get(id);
    const order = await storeOf(sql).findStoreOrder(id, store.retailerId);
    expect(order && placeOnRoute(id, order.on_route)?.stopsBefore).toBe(tracked?.onRoute?.stopsBefore);
    return tracked?.onRoute?.stopsBefore ?? null;
  };
  const otherDoors = async () =>
    (await storeOf(sql).findTrackedByIds([orderId])).get(orderId)?.onRoute?.otherDoors.map(({ lat }) => lat);
  const become = (status: string) =>
    sql`update orders set driver_id = ${driverId}, driver_slot = 1, status = ${status} where id = ${other}`;
  expect([await stops(orderId), await stops(other)]).toEqual([0, null]);
  await become('driver_assigned');
  expect([await stops(orderId), await stops(other)]).toEqual([1, 0]);
  expect(await otherDoors()).toEqual([]);
  await become('picked_up');
  expect([await stops(orderId), await stops(other)]).toEqual([1, 0]);
  expect(await otherDoors()).toEqual([PICKUP.lat + 1_000 / 111_195]);
  await become('delivered');
  expect([await stops(orderId), await stops(other)]).toEqual([0, null]);
});

test('the tracking page gets when the driver is at the door while they were heard of in the last 90 s', async () => {
  const { orderId, driverId } = await assignedOrder();
  const minutes = async () =>
    (await storeOf(sql).findTrackedByIds([orderId])).get(orderId)?.onRoute?.doorInMinutes ?? null;
  const heard = (secondsAgo: number) => sql`
    insert into driver_positions (driver_id, lat, lng, captured_at)
    values (${driverId}, ${PICKUP.lat}, ${PICKUP.lng}, now() - make_interval(secs => ${secondsAgo}))
    on conflict (driver_id) do update set captured_at = excluded.captured_at`;
  expect(await minutes()).toBeNull();
  await heard(60);
  expect(await minutes()).toBeGreaterThan(0);
  await heard(91);
  expect(await minutes()).toBeNull();
});

test('the tracking page gets why a handover failed', async () => {
  const { orderId, driverId } = await assignedOrder();
  const reason = async () => (await storeOf(sql).findTrackedByIds([orderId])).get(orderId)?.reason;
  await storeOf(sql, 'me').pickUpOrder(orderId, driverId, UNSTAMPED);
  expect(await reason()).toBeNull();
  await storeOf(sql, 'me').markUndeliverable(orderId, driverId, 'unsafe', UNSTAMPED);
  expect(await reason()).toBe('unsafe');
});

test('orders are read for many tracking pages at once; an unknown one is missing', async () => {
  const { orderId: waits } = await addOrder(sql, store);
  const { orderId: carried, driverId } = await assignedOrder();
  const tracked = await storeOf(sql).findTrackedByIds([carried, newId(), waits]);
  expect([...tracked.keys()].toSorted()).toEqual([carried, waits].toSorted());
  expect(tracked.get(waits)).toMatchObject({ orderId: waits, status: 'pending_dispatch', driverId: null });
  expect(tracked.get(carried)).toMatchObject({ orderId: carried, status: 'driver_assigned', driverId });
  expect(await storeOf(sql).findTrackedByIds([])).toEqual(new Map());
});

test('waiting orders are read oldest first, up to a limit, as the matcher needs them', async () => {
  const fresh = await freshDatabase();
  onTestFinished(() => fresh.drop());
  const { sql } = fresh;
  const own = await addStoreRow(sql);
  const ids: string[] = [];
  for (let i = 0; i < 4; i++) ids.push((await addOrder(sql, own)).orderId);
  await addOrder(sql, own, { driverId: await addDriverRow(sql) });
  for (const [age, id] of ids.entries()) {
    await sql`update orders set created_at = now() - make_interval(secs => ${age}) where id = ${id}`;
  }
  const oldestFirst = ids.toReversed();
  expect((await storeOf(sql).loadWaiting(10)).map(({ orderId }) => orderId)).toEqual(oldestFirst);
  const [oldest, ...others] = await storeOf(sql).loadWaiting(2);
  expect(others).toHaveLength(1);
  const { created_at: createdAt, deliver_by: deliverBy } = await orderRow(sql, oldestFirst[0] as string);
  expect(oldest).toEqual({
    orderId: oldestFirst[0],
    retailerId: own.retailerId,
    tierId: 'standard',
    point: PICKUP,
    sinceMs: (createdAt as Date).getTime(),
    size: 'small',
    readyAtMs: (createdAt as Date).getTime(),
    deliverByMs: (deliverBy as Date).getTime(),
    dropoff: null,
  });
});

test('an order keeps the fair start with which it began to wait, until a driver gives it back', async () => {
  const fairStartMs = Date.now() + 600_000;
  const draft = { ...(await draftOrder(sql, store)), fairStartMs };
  await storeOf(sql).insertOrders([draft]);
  const orderId = draft.id;
  const waiting = async () => (await storeOf(sql).loadOrderStates([orderId]))[0]?.waiting;
  expect(await waiting()).toMatchObject({ fairStartMs });
  const driverId = await addDriverRow(sql);
  await storeOf(sql).assignWaiting(orderId, { driverId, shownMeters: 1 });
  await storeOf(sql).releaseOrder(orderId, driverId, 'vehicle', UNSTAMPED);
  expect(await waiting()).toMatchObject({ orderId });
  expect(await waiting()).not.toHaveProperty('fairStartMs');
});

test('the states of orders say which wait and who carries the others', async () => {
  const { orderId: waits } = await addOrder(sql, store);
  const { orderId: carried, driverId } = await assignedOrder();
  const news = new Map(
    (await storeOf(sql).loadOrderStates([waits, carried, newId()])).map((each) => [each.orderId, each]),
  );
  expect(news.size).toBe(2);
  expect(news.get(waits)).toMatchObject({ status: 'pending_dispatch', driverId: null, waiting: { orderId: waits } });
  expect(news.get(carried)).toMatchObject({
    status: 'driver_assigned',
    driverId,
    waiting: null,
  });
});
