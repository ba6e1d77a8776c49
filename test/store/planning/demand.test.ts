import { beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../../src/domain/ids.ts';
import type { Point } from '../../../src/geo/point.ts';
import { PLANNER_DEMAND_MS } from '../../../src/limits.ts';
import { DEMAND_BACK_MS, DEMAND_WEEKS } from '../../../src/store/planning/demand.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addOrder, addStoreRow, PICKUP } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { reading } from '../transaction.ts';

const WEEK_MS = 7 * 86_400_000;
const MINUTE_MS = 60_000;
/** A Wednesday at noon. */
const NOW_MS = Date.UTC(2026, 2, 4, 12);
const NORTH: Point = { lat: PICKUP.lat + 0.1, lng: PICKUP.lng };

const database = await useFreshDatabase();
const { sql } = database;
const market = await addStoreRow(sql);
const sample = (await addOrder(sql, market)).orderId;
beforeEach(async () => {
  await sql`delete from orders where id <> ${sample}`;
});

/** Orders as they were made at a time, copied from one that the service made. */
async function addOrders(
  atMs: number,
  options: { at?: Point; count?: number; store?: string; status?: string; address?: string } = {},
) {
  const { at = PICKUP, count = 1, store = market.retailerId, status = 'pending_dispatch' } = options;
  const { address = 'One Test Square' } = options;
  const time = Math.floor(atMs).toString(16).padStart(12, '0');
  await sql`
    insert into orders select (jsonb_populate_record(o, jsonb_build_object(
      'id', overlay(overlay(gen_random_uuid()::text placing ${`${time.slice(0, 8)}-${time.slice(8)}`} from 1 for 13)
        placing '7' from 15 for 1),
      'created_at', ${new Date(atMs)}::timestamptz, 'tracking_token', gen_random_uuid(), 'pickup_lat', ${at.lat}::float8,
      'pickup_lng', ${at.lng}::float8, 'pickup_address', ${address}::text, 'retailer_id', ${store}::uuid, 'status', ${status}::text))).*
    from orders o, generate_series(1, ${count}) where o.id = ${sample}`;
}
const demand = () => storeOf(sql).loadDemand(NOW_MS);
const weights = async () => (await demand()).map(({ weight }) => Number(weight.toFixed(3)));

test('an order counts by its age at its store’s pickup, which is told by name', async () => {
  await addOrders(NOW_MS - 1);
  await addOrders(NOW_MS - PLANNER_DEMAND_MS, { count: 2 });
  await addOrders(NOW_MS - 2 * PLANNER_DEMAND_MS, { at: NORTH });
  expect(await weights()).toEqual([2, 0.25]);
  expect((await demand()).map(({ point }) => point)).toEqual([
    { ...PICKUP, name: 'Corner Market' },
    { ...NORTH, name: 'Corner Market' },
  ]);
});

test('orders of the coming hour in past weeks count as their mean, others of those weeks do not', async () => {
  await addOrders(NOW_MS - WEEK_MS + MINUTE_MS, { count: 6 });
  await addOrders(NOW_MS - 3 * WEEK_MS + 59 * MINUTE_MS, { count: 2 });
  for (const off of [-MINUTE_MS, 61 * MINUTE_MS, 2 * 86_400_000]) await addOrders(NOW_MS - WEEK_MS + off);
  await addOrders(NOW_MS - (DEMAND_WEEKS + 1) * WEEK_MS + MINUTE_MS);
  await addOrders(NOW_MS - DEMAND_BACK_MS - MINUTE_MS);
  expect(await weights()).toEqual([8 / DEMAND_WEEKS]);
});

describe.each([
  // Noon of a Wednesday in San Francisco, after clocks went forward on March 8th and back on November 1st.
  { change: 'forward', nowMs: Date.UTC(2026, 2, 11, 19), earlierHours: 1 },
  { change: 'back', nowMs: Date.UTC(2026, 10, 4, 20), earlierHours: -1 },
])('in the weeks after clocks go $change', ({ nowMs, earlierHours }) => {
  /** The same time on the clocks of a place that changes them, and of one that does not. */
  const shownThere = nowMs - WEEK_MS + earlierHours * 3_600_000;
  const shownInArizona = nowMs - WEEK_MS;
  const read = async () => (await storeOf(sql).loadDemand(nowMs)).map(({ point, weight }) => [point.lat, weight]);

  test('past weeks count by the clocks of the pickup, also where they were not changed', async () => {
    const phoenix = { at: NORTH, address: '2 N Central Ave, Phoenix, AZ 85004' };
    await addOrders(shownThere + 10 * MINUTE_MS, { count: 4, address: '2000 Mission St, San Francisco, CA 94110' });
    await addOrders(shownInArizona + 10 * MINUTE_MS, { count: 8, ...phoenix });
    expect(await read()).toEqual([
      [NORTH.lat, 8 / DEMAND_WEEKS],
      [PICKUP.lat, 4 / DEMAND_WEEKS],
    ]);
  });

  test('the hour before or after is not taken for it', async () => {
    await addOrders(shownInArizona + 10 * MINUTE_MS, { count: 4 });
    await addOrders(shownThere + 10 * MINUTE_MS, { at: NORTH, address: '2 N Central Ave, Phoenix, AZ 85004' });
    expect(await read()).toEqual([]);
  });
});

test('neither an order that never was nor one of a suspended store is expected again', async () => {
  const closed = await addStoreRow(sql);
  await storeOf(sql).setRetailerStatus(closed.retailerId, 'suspended');
  await addOrders(NOW_MS - 1, { store: closed.retailerId });
  await addOrders(NOW_MS - 1, { status: 'void' });
  expect(await demand()).toEqual([]);
});

test('reads orders by their ids, and of each time no more than the newest', async () => {
  for (const agoMs of [5 * WEEK_MS, WEEK_MS / 2]) {
    // In parts, as a statement of all of them may take longer than one may.
    for (let part = 0; part < 8; part++) await addOrders(NOW_MS - agoMs, { count: 250 });
  }
  await addOrders(NOW_MS - 3 * 3_600_000, { count: 50, at: NORTH });
  await addOrders(NOW_MS - MINUTE_MS, { count: 100 });
  await sql`analyze orders`;
  const { result: places, rows, wholeReads } = await reading(database, ['orders'], (s) => s.loadDemand(NOW_MS, 100));
  expect(places.map(({ point }) => point.lat)).toEqual([PICKUP.lat]);
  expect(wholeReads).toBe(0);
  expect(rows).toBeLessThanOrEqual(110);
});

test('an id that the service makes now is counted now', async () => {
  await sql`delete from orders where id <> ${sample}`;
  const places = await storeOf(sql).loadDemand(Date.now());
  expect(places).toEqual([{ point: { ...PICKUP, name: 'Corner Market' }, weight: expect.any(Number) }]);
  expect(newId() > sample).toBe(true);
});
