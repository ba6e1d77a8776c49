import { beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../src/domain/ids.ts';
import type { Page, Place } from '../../../src/store/pages.ts';
import { LIST_COUNTED, LIST_FIRST_PART } from '../../../src/store/pages.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, type TestStore } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';

const { sql } = await useFreshDatabase();

const ANY = { status: null, since: null, until: null, text: null };
const ANY_ORDER = { ...ANY, retailerIds: null, driverIds: null };
const NOTHING_BEHIND = { next: null, more: 0, isExact: true };

/** Every page of a list, one after the other. */
async function everyPage(read: (after: Place | null) => Promise<Page>): Promise<Page[]> {
  const pages = [await read(null)];
  for (let last = pages[0]; last?.next; last = pages.at(-1)) pages.push(await read(last.next));
  return pages;
}

const valuesOf = (pages: readonly Page[], column: string) =>
  pages.flatMap(({ rows }) => rows.map((row) => row[column]));
const first = (limit: number) => ({ limit, after: null });

describe('stores', () => {
  /** Inserts stores, each a second younger than the one before. */
  async function addStores(name: string, count: number): Promise<void> {
    await sql`
      insert into retailers (id, name, address, lat, lng, stripe_customer_id, stripe_payment_method_id, created_at)
      select gen_random_uuid(), ${name} || ' ' || n, n || ' Main St', 1, 2, 'cus', 'pm',
        timestamptz '2025-01-01' + n * interval '1 second'
      from generate_series(1, ${count}) n`;
  }
  const read = (limit: number, text: string) => (after: Place | null) =>
    storeOf(sql).listRetailers({ ...ANY, text }, { limit, after });

  test('are all on some page, once, newest first, and each page says how many follow', async () => {
    await addStores('Paged', 205);
    const pages = await everyPage(read(50, 'paged'));
    expect(pages.map(({ more, isExact }) => [more, isExact])).toEqual([155, 105, 55, 5, 0].map((more) => [more, true]));
    expect(valuesOf(pages, 'name')).toEqual(Array.from({ length: 205 }, (_, n) => `Paged ${205 - n}`));
  });

  test('that stand behind the most that is counted are said to be more than that', async () => {
    await addStores('Many', LIST_COUNTED + 3);
    const { list } = { list: (limit: number) => read(limit, 'Many')(null) };
    expect(await list(2)).toMatchObject({ more: LIST_COUNTED, isExact: false });
    expect(await list(3)).toMatchObject({ more: LIST_COUNTED, isExact: true });
  });

  test('that need attention come first, and say why', async () => {
    await addStores('Troubled', 6);
    const idOf = async (n: number) =>
      (await sql`select id from retailers where name = ${`Troubled ${n}`}`)[0]?.id as string;
    await storeOf(sql).setRetailerStatus(await idOf(1), 'suspended');
    await storeOf(sql).setCard(await idOf(2), null, null);
    await storeOf(sql).setWebhook(await idOf(3), 'https://store.test/', 'whsec_x');
    await sql`update webhook_endpoints set disabled_at = now(), disabled_because = 'gone'`;
    await storeOf(sql).setWebhook(await idOf(4), 'https://store.test/', 'whsec_x');
    const off = await idOf(4);
    await storeOf(sql).changeWebhookOf({ kind: 'store', id: off }, off, { enabled: false });
    const list = (await read(10, 'troubled')(null)).rows.map(({ name, attention }) => [name, attention]);
    expect(list).toEqual([
      ['Troubled 3', 'webhook disabled'],
      ['Troubled 2', 'no card'],
      ['Troubled 1', 'suspended'],
      ['Troubled 6', null],
      ['Troubled 5', null],
      ['Troubled 4', null],
    ]);
    const paged = await everyPage(read(1, 'troubled'));
    expect(valuesOf(paged, 'name')).toEqual(list.map(([name]) => name));
  });

  test('are found by status, time, whole id and any part of name or address, without wildcards', async () => {
    await addStores('Corner', 3);
    const list = async (search: Partial<Parameters<ReturnType<typeof storeOf>['listRetailers']>[0]>) =>
      (await storeOf(sql).listRetailers({ ...ANY, text: 'corner', ...search }, first(10))).rows;
    const [newest, middle] = await list({});
    const since = new Date('2025-01-01T00:00:02Z');
    expect((await list({ since })).map(({ name }) => name)).toEqual(['Corner 3', 'Corner 2']);
    expect((await list({ until: since })).map(({ name }) => name)).toEqual(['Corner 1']);
    await storeOf(sql).setRetailerStatus(middle?.retailer_id as string, 'suspended');
    expect((await list({ status: 'suspended' })).map(({ name }) => name)).toEqual(['Corner 2']);
    expect(await list({ text: newest?.retailer_id as string })).toEqual([newest]);
    expect(await list({ text: 'corner%' })).toEqual([]);
    expect(await storeOf(sql).findNamed('retailers', 'CORNER')).toHaveLength(3);
    expect(await storeOf(sql).findNamed('retailers', newest?.retailer_id as string)).toEqual([newest?.retailer_id]);
    expect(await storeOf(sql).findNamed('retailers', 'a')).toHaveLength(101);
  });
});

test('applications are listed the longest open first, then the decided ones', async () => {
  const ids = [newId(), newId(), newId()] as const;
  const store = storeOf(sql);
  for (const id of ids) await store.applyRetailer({ id, name: 'Books', address: 'x', contactEmail: 'a@b.test' });
  await store.rejectApplication(ids[0], 'no');
  const pages = await everyPage((after) => store.listApplications(ANY, { limit: 1, after }));
  expect(valuesOf(pages, 'application_id')).toEqual([ids[1], ids[2], ids[0]]);
  expect((await store.listApplications({ ...ANY, status: 'rejected' }, first(5))).rows).toMatchObject([
    { application_id: ids[0], status: 'rejected' },
  ]);
});

test('drivers are listed by what they are at: silent with an order first, deactivated last', async () => {
  const store = storeOf(sql, 'test');
  const shop = await addStoreRow(sql);
  const inactive = await addDriverRow(sql);
  await store.deactivateDriver(inactive);
  const off = await addDriverRow(sql);
  await store.setDriverDuty(off, false);
  const on = await addDriverRow(sql);
  const carrying = await addDriverRow(sql);
  const silent = await addDriverRow(sql);
  const gone = await addDriverRow(sql);
  for (const driverId of [carrying, silent, gone]) await addOrder(sql, shop, { driverId });
  for (const driverId of [carrying, gone]) {
    await store.writePositions([{ driverId, lat: 1, lng: 2, atMs: Date.now() }]);
  }
  await sql`update orders set status = 'picked_up' where driver_id = ${gone}`;
  await store.deactivateDriver(gone);
  const pages = await everyPage((after) => store.listDrivers(ANY, { limit: 2, after }));
  expect(valuesOf(pages, 'driver_id')).toEqual([gone, silent, carrying, on, off, inactive]);
  for (const [status, ids] of [
    ['silent', [gone, silent]],
    ['carrying', [carrying]],
    ['on_duty', [on]],
    ['off_duty', [off]],
    ['inactive', [inactive]],
  ] as const) {
    const { rows } = await store.listDrivers({ ...ANY, status }, first(10));
    expect([status, rows.map((row) => row.driver_id)]).toEqual([status, ids]);
  }
  expect((await store.listDrivers({ ...ANY, text: '4155550177' }, first(2))).more).toBe(4);
});

describe('orders', () => {
  let shop: TestStore;
  let old: string;
  beforeAll(async () => {
    shop = await addStoreRow(sql);
    // More delivered orders than the first part of a search, a second apart; the ids hold the time.
    await sql`
      with made as (
        select lpad(to_hex((extract(epoch from at) * 1000)::int8), 12, '0') || right(md5(n::text), 20) as id, at, n from (
          select n, timestamptz '2025-03-01' + n * interval '1 second' as at
          from generate_series(1, ${LIST_FIRST_PART + 2_000}) n) s
      ), customer as (
        insert into customers select id::uuid, 'Customer ' || n, n || '@example.com', '+1415' || n, false from made
      ), address as (
        insert into dropoff_addresses (id, line1, city, state, zip)
        select id::uuid, n || ' Valencia St', 'San Francisco', 'CA', '94103' from made
      )
      insert into orders (id, retailer_id, customer_id, dropoff_address_id, driver_id, status, delivery_tier,
        delivery_fee_cents, driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address, pickup_lat,
        pickup_lng, pickup_point_source, created_at, expires_at)
      select id::uuid, ${shop.retailerId}, id::uuid, id::uuid, ${newId()}, case when n = 1 then 'returned' else 'delivered' end,
        'standard', 799, 550, 'paid', 'none', id, 'x', 1, 2, 'registered', at, at from made`;
    const [row] = await sql`select id from orders where status = 'returned'`;
    old = row?.id;
  });
  const list = (search: object, limit = 10, after: Place | null = null) =>
    storeOf(sql).listOrders({ ...ANY_ORDER, ...search }, { limit, after });
  const idsOf = ({ rows }: Page) => rows.map((row) => row.order_id);

  test('are found behind more of them than one statement looks at', async () => {
    expect(await list({ status: 'returned' })).toMatchObject({ rows: [{ order_id: old }], ...NOTHING_BEHIND });
    expect(await list({ text: 'customer 1 ' })).toMatchObject({ rows: [{ order_id: old }], ...NOTHING_BEHIND });
    for (const text of ['1@EXAMPLE.com', '1 valencia st, san francisco, CA 94103']) {
      expect(idsOf(await list({ text }, LIST_FIRST_PART)), text).toContain(old);
    }
    expect(await list({ text: old })).toMatchObject({ rows: [{ order_id: old }], ...NOTHING_BEHIND });
    const until = new Date('2025-03-01T00:00:03Z');
    expect(await list({ until })).toMatchObject({ rows: [{}, { order_id: old }], ...NOTHING_BEHIND });
    expect((await list({ since: until })).more).toBe(LIST_COUNTED);
    expect(await list({ since: until, status: 'returned' })).toMatchObject({ rows: [], ...NOTHING_BEHIND });
  });

  test('are all on some page, once', async () => {
    const pages = await everyPage((after) => list({ retailerIds: [shop.retailerId] }, 1_000, after));
    const ids = valuesOf(pages, 'order_id');
    expect(ids).toHaveLength(LIST_FIRST_PART + 2_000);
    expect(ids).toEqual([...new Set(ids)].toSorted().reverse());
    expect(pages.at(-2)).toMatchObject({ more: 1_000, isExact: true });
    expect(pages[0]).toMatchObject({ more: LIST_COUNTED, isExact: false });
  });

  test('that need attention come first: waiting longest, not handed over, charge refused, then the newest', async () => {
    const poor = await addStoreRow(sql);
    const waiting = [await addOrder(sql, poor), await addOrder(sql, poor), await addOrder(sql, poor)];
    const made = async () => addOrder(sql, poor, { driverId: await addDriverRow(sql) });
    const [late, unpaid, oldUnpaid, fine] = [await made(), await made(), await made(), await made()];
    await sql`update orders set status = 'undeliverable' where id = ${late.orderId}`;
    for (const { orderId } of [unpaid, oldUnpaid]) {
      await sql`update orders set payment_status = 'failed', status = 'delivered' where id = ${orderId}`;
      await sql`update outbox set done_at = now(), failure_code = 'generic_decline'
        where order_id = ${orderId} and queue = 'charge'`;
    }
    // Jobs are kept for a week.
    await sql`delete from outbox where order_id = ${oldUnpaid.orderId}`;
    const wanted = { retailerIds: [poor.retailerId] };
    const expected = [...waiting, late, unpaid, fine, oldUnpaid].map(({ orderId }) => orderId);
    expect(idsOf(await list(wanted))).toEqual(expected);
    const paged = await everyPage((after) => list(wanted, 1, after));
    expect(valuesOf(paged, 'order_id')).toEqual(expected);
    expect(paged.map(({ more }) => more)).toEqual([6, 5, 4, 3, 2, 1, 0]);
    const delivered = { ...wanted, status: 'delivered' };
    expect(idsOf(await list(delivered))).toEqual([unpaid.orderId, oldUnpaid.orderId]);
    expect(idsOf(await list({ ...wanted, status: 'driver_assigned' }))).toEqual([fine.orderId]);
    expect(idsOf(await list({ ...wanted, status: 'undeliverable' }))).toEqual([late.orderId]);
    expect(idsOf(await list({ ...wanted, status: 'pending_dispatch' }))).toEqual(expected.slice(0, 3));
    const driverIds = [fine.order.driver?.driverId ?? ''];
    expect(idsOf(await list({ driverIds }))).toEqual([fine.orderId]);
  });

  test('for later wait from when they are due, and are listed by it on every page', async () => {
    const store = await addStoreRow(sql);
    const wanted = { retailerIds: [store.retailerId] };
    const hours = (count: number) => new Date(Date.now() + count * 3_600_000);
    const add = async (created: Date, dispatchFrom: Date | null) => {
      const { orderId } = await addOrder(sql, store);
      await sql`update orders set created_at = ${created}, dispatch_from = ${dispatchFrom} where id = ${orderId}`;
      return orderId;
    };
    const due = await add(hours(-4), hours(-1));
    const old = await add(hours(-2), null);
    const fresh = await add(hours(0), null);
    const later = await add(hours(-3), hours(2));
    const soon = await add(hours(-1), hours(1));
    const pages = await everyPage((after) => list(wanted, 1, after));
    expect(valuesOf(pages, 'order_id')).toEqual([old, due, fresh, soon, later]);
  });

  test('that came between two pages push no row off the list', async () => {
    const busy = await addStoreRow(sql);
    const wanted = { retailerIds: [busy.retailerId] };
    const waiting = [await addOrder(sql, busy), await addOrder(sql, busy), await addOrder(sql, busy)];
    const page = await list(wanted, 1);
    // The row at which the next page begins leaves its place meanwhile.
    await storeOf(sql).cancelOrder(waiting[0]?.orderId ?? '', 'operator', 'other');
    await addOrder(sql, busy);
    const rest = await list(wanted, 10, page.next);
    expect(idsOf(rest)).toEqual(expect.arrayContaining(waiting.slice(1).map(({ orderId }) => orderId)));
  });
});

describe('webhook deliveries', () => {
  test('are listed given up first, then newest, each on one page, also behind more than one part', async () => {
    const [shop, other] = [await addStoreRow(sql), await addStoreRow(sql)];
    const add = async (retailerId: string, count: number, status: string, at: string) => {
      await sql`
        with job as (
          insert into outbox (queue, order_id, retailer_id, lease_until, done_at, failure_code)
          select 'webhook', gen_random_uuid(), ${retailerId}, now(), now(), ${status === 'failed' ? '500' : null}
          from generate_series(1, ${count}) returning id, order_id
        )
        insert into webhook_deliveries (outbox_id, retailer_id, order_id, type, sequence, payload, status, created_at)
        select id, ${retailerId}, order_id, 'order.delivered', 1, '{}', ${status},
          ${at}::timestamptz + (id % 1000) * interval '1 second' from job`;
    };
    await add(shop.retailerId, 3, 'failed', '2025-01-01');
    await add(shop.retailerId, 2, 'pending', '2024-01-01');
    await add(other.retailerId, LIST_FIRST_PART + 10, 'delivered', '2025-02-01');
    await add(shop.retailerId, 4, 'delivered', '2025-03-01');
    const search = { ...ANY, retailerIds: null, orderId: null };
    const read = (changes: object, limit: number) => (after: Place | null) =>
      storeOf(sql).listDeliveries({ ...search, ...changes }, { limit, after });
    const all = await everyPage(read({}, 1_000));
    const ids = valuesOf(all, 'delivery_id');
    expect(ids).toHaveLength(new Set(ids).size);
    expect(ids).toHaveLength(LIST_FIRST_PART + 19);
    const statuses = valuesOf(all, 'status');
    expect([statuses.slice(0, 7), statuses.slice(-2)]).toEqual([
      ['failed', 'failed', 'failed', 'delivered', 'delivered', 'delivered', 'delivered'],
      ['pending', 'pending'],
    ]);
    const isTimed = ({ status, next_try_at: at }: (typeof all)[number]['rows'][number]) =>
      (status === 'pending') === (at !== null);
    expect(all.flatMap(({ rows }) => rows).filter((row) => !isTimed(row))).toEqual([]);
    const of = { retailerIds: [shop.retailerId] };
    const paged = await everyPage(read(of, 2));
    expect(paged.map(({ rows, more }) => [rows.length, more])).toEqual([
      [2, 7],
      [2, 5],
      [2, 3],
      [2, 1],
      [1, 0],
    ]);
    expect(await read({ status: 'pending' }, 5)(null)).toMatchObject({ rows: [{}, {}], ...NOTHING_BEHIND });
    const [some] = paged[0]?.rows ?? [];
    expect((await read({ orderId: some?.order_id }, 5)(null)).rows).toEqual([some]);
    const early = { until: new Date('2025-01-01') };
    expect(valuesOf([await read(early, 5)(null)], 'status')).toEqual(['pending', 'pending']);
  });
});
