import { describe, expect, it } from 'vitest';
import type { OrderFilter } from '../../../src/store/orders/orders-list.ts';
import { PLAN_PAST_MS } from '../../../src/store/planning/plan-readings.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { addWaiting, inOneStep, leaseOf, MINUTE, nowMs, plan, rangeAt } from '../plan-world.ts';

const { sql } = await useFreshDatabase();
const store = await addStoreRow(sql);
const driverId = await addDriverRow(sql);
const lease = await leaseOf(sql);
const me = storeOf(sql, 'me');

const ANY: OrderFilter = {
  status: null,
  externalId: null,
  createdAfter: null,
  createdBefore: null,
  updatedAfter: null,
  limit: 100,
  cursor: null,
};
const SEARCH = { status: null, since: null, until: null, text: null, retailerIds: null, driverIds: null };
const FIRST_PAGE = { limit: 100, after: null };

/** Plans an order so many minutes ahead; returns when it is at the door. */
async function planIn(orderId: string, minutes: number): Promise<number> {
  const doorMs = (await nowMs(sql)) + minutes * MINUTE;
  expect(await me.writePlans(lease, [plan(orderId, driverId, doorMs)], [])).toBe(true);
  return doorMs;
}

/** The plan of an order in every view of its store and its customer. */
async function everyPlan(orderId: string) {
  const listed = [
    await me.listStoreOrders(store.retailerId, ANY),
    await me.listStoreOrders(store.retailerId, { ...ANY, status: 'pending_dispatch' }),
    await me.listOrdersOfStores([store.retailerId], ANY),
  ].map(({ orders }) => orders.find(({ id }) => id === orderId)?.times.plan?.range);
  const found = await me.findStoreOrder(orderId, store.retailerId);
  const tracked = (await me.findTrackedByIds([orderId])).get(orderId);
  const byToken = await me.findTrackedByToken(String(found?.tracking_token));
  return [...listed, found?.plan?.range, tracked?.planned, byToken?.planned];
}

/** Why an order waits, in the list of the command line. */
async function listedReason(orderId: string) {
  const { rows } = await me.listOrders(SEARCH, FIRST_PAGE);
  return rows.find((row) => row.order_id === orderId)?.waiting_because;
}

describe('an order that somebody is meant for', () => {
  it('says in every view when it comes, and twice in a row the same', async () => {
    const orderId = await addWaiting(sql, store);
    const doorMs = await planIn(orderId, 43);
    const { found, readMs } = await inOneStep(sql, async () => [
      ...(await everyPlan(orderId)),
      ...(await everyPlan(orderId)),
    ]);
    expect(found).toEqual(found.map(() => rangeAt(doorMs, readMs)));
  });

  it('tells the operator who is meant and when', async () => {
    const orderId = await addWaiting(sql, store);
    const doorMs = await planIn(orderId, 43);
    expect(await me.showOrder(orderId)).toMatchObject({
      waiting_because: 'planned',
      planned: {
        driver_id: driverId,
        driver_name: 'Sam Rider',
        pickup_at: new Date(doorMs - 10 * MINUTE).toISOString(),
        door_at: new Date(doorMs).toISOString(),
      },
    });
    expect(await listedReason(orderId)).toBe('planned');
  });

  it('tells no store and no customer who is meant', async () => {
    const orderId = await addWaiting(sql, store);
    await planIn(orderId, 43);
    const [listed] = (await me.listStoreOrders(store.retailerId, ANY)).orders.filter(({ id }) => id === orderId);
    const tracked = (await me.findTrackedByIds([orderId])).get(orderId);
    const told = JSON.stringify([await me.findStoreOrder(orderId, store.retailerId), listed, tracked]);
    expect(told).toContain('"range"');
    expect(told).not.toContain(driverId);
  });

  it('is never said to come before its parcel is ready or its window opens', async () => {
    const orderId = await addWaiting(sql, store);
    const doorMs = await planIn(orderId, 60);
    const opens = new Date(Math.floor((doorMs - 2 * MINUTE) / MINUTE) * MINUTE);
    await sql`update orders set deliver_after = ${opens} where id = ${orderId}`;
    expect((await me.findStoreOrder(orderId, store.retailerId))?.plan?.range?.from).toBe(opens.toISOString());
  });

  it('waits for it also where its door is not known, with no estimate', async () => {
    const { orderId } = await addOrder(sql, store);
    await planIn(orderId, 43);
    expect((await me.findStoreOrder(orderId, store.retailerId))?.plan).toEqual({ range: null });
    expect(await listedReason(orderId)).toBe('planned');
  });
});

describe('no plan counts', () => {
  const NONE = Array.from({ length: 4 }, () => undefined);
  const isWithout = async (orderId: string) => {
    expect(await everyPlan(orderId)).toEqual([...NONE, null, null]);
    const shown = await me.showOrder(orderId);
    expect(shown?.waiting_because ?? null).not.toBe('planned');
    expect(shown).not.toHaveProperty('planned');
  };

  it('of an order that has none', async () => {
    await isWithout(await addWaiting(sql, store));
  });

  it('of an order that has a driver, or whose handover by it is long past', async () => {
    const orderId = await addWaiting(sql, store);
    await planIn(orderId, 20);
    expect(await me.assignWaiting(orderId, { driverId, shownMeters: 1 })).toMatchObject({ kind: 'assigned' });
    await isWithout(orderId);
    const late = await addWaiting(sql, store);
    await planIn(late, 1 - PLAN_PAST_MS / MINUTE);
    expect(await listedReason(late)).toBe('planned');
    await planIn(late, -1 - PLAN_PAST_MS / MINUTE);
    await isWithout(late);
  });

  it('where the nearest driver takes what waits, and of an order of which nothing is planned any more', async () => {
    const orderId = await addWaiting(sql, store);
    await planIn(orderId, 20);
    await me.setTier('standard', { dispatchMode: 'nearest' });
    await isWithout(orderId);
    await me.setTier('standard', { dispatchMode: 'planned' });
    expect(await listedReason(orderId)).toBe('planned');
    await me.writePlans(lease, [], [orderId]);
    await isWithout(orderId);
  });

  it('of an order whose store is held', async () => {
    const held = await addStoreRow(sql);
    const orderId = await addWaiting(sql, held);
    await planIn(orderId, 20);
    await me.setRetailerStatus(held.retailerId, 'suspended');
    const shown = await me.showOrder(orderId);
    expect(shown?.waiting_because).toBe('store_suspended');
    expect(shown).not.toHaveProperty('planned');
    expect(await listedReason(orderId)).toBe('store_suspended');
  });
});

describe('the record of a planned assignment', () => {
  it('tells the operator what it cost beside the next best drivers, and no store', async () => {
    const orderId = await addWaiting(sql, store);
    const [chosen, other] = [await addDriverRow(sql), await addDriverRow(sql)];
    const outcome = await me.assignWaiting(
      orderId,
      {
        driverId: chosen,
        shownMeters: 812.4,
        cost: 17.249,
        rejectedCandidates: [{ driverId: other, distanceMeters: 300, reason: 'costlier', cost: 21.96 }],
      },
      10,
      lease,
    );
    expect(outcome).toMatchObject({ kind: 'assigned' });
    const shown = (await me.showOrder(orderId)) as { events: { type: string; data: object; considered?: object }[] };
    const [event] = shown.events.filter(({ type }) => type === 'driver_assigned');
    expect(event).toMatchObject({ data: { driver_id: chosen, distance_meters: 812, cost: 17.2 } });
    expect(event?.considered).toEqual([{ driver_id: other, distance_meters: 300, reason: 'costlier', cost: 22 }]);
    const found = await me.findStoreOrder(orderId, store.retailerId);
    const told = found?.events.find(({ type }) => type === 'driver_assigned');
    expect(told?.data).toEqual({ driver_id: chosen, distance_meters: 812 });
    while ((await me.numberEvents()).isMore);
    const { events } = await me.readEvents(store.retailerId, null, 1_000);
    expect(events.map(({ type }) => type)).toContain('order.assigned');
    expect(JSON.stringify(events)).not.toMatch(/"cost"/);
    expect(JSON.stringify(events)).not.toContain(other);
  });
});
