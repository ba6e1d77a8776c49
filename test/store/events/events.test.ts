import { expect, onTestFinished, test } from 'vitest';
import { STORE_EVENT_TYPES } from '../../../src/domain/store-event.ts';
import { WEBHOOKS } from '../../../src/http/openapi/webhooks.ts';
import { MAX_ORGANIZATION_STORES } from '../../../src/limits.ts';
import { connect } from '../../../src/postgres/connect.ts';
import { LIST_SCAN_ROWS_PER_STORE } from '../../../src/store/accounts/orders-of-stores.ts';
import { freshDatabase } from '../../harness/database.ts';
import { UNSTAMPED } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { openAttempt } from '../../harness/vendor-rows.ts';
import { noticesDuring, openTransaction, untilBlocked } from '../transaction.ts';
import { newDriver, newOrder, retailerId, tell, types, useWebhookWorld } from '../webhook-world.ts';

const database = await useWebhookWorld();
const { sql } = database;

const store = storeOf(sql, 'test');
/** The numbers that came since the last test, with what they are of. */
async function numbered(): Promise<{ number: number; orderId: string; sequence: number; type: string }[]> {
  const rows = await sql`
    select number::int, order_id, sequence, type from store_events where retailer_id = ${retailerId} order by number`;
  return rows.map((row) => ({ number: row.number, orderId: row.order_id, sequence: row.sequence, type: row.type }));
}
const lastNumber = async () => Number(await store.readLastEvent());
const behind = (number: string) => ({ number, isPlain: false });
const read = (after: string | null, limit = 100) =>
  store.readEvents(retailerId, after === null ? null : behind(after), limit);

test('every step of an order is an event with the state that it left, and those of a statement stand together', async () => {
  const driverId = await newDriver();
  const orderId = await newOrder(driverId);
  await store.pickUpOrder(orderId, driverId, UNSTAMPED);
  await store.deliverOrder(orderId, driverId, 'photo', UNSTAMPED);
  await tell();
  const { events } = await read(null);
  expect(events.map(({ type, data }) => [type, data.sequence, data.status])).toEqual([
    ['order.created', 1, 'driver_assigned'],
    ['order.assigned', 2, 'driver_assigned'],
    ['order.picked_up', 3, 'picked_up'],
    ['order.delivered', 4, 'delivered'],
    ['order.proof_available', 4, 'delivered'],
  ]);
  expect(events.at(-1)?.data.photo).toBe(`/orders/${orderId}/photo`);
  const [event] = await sql`select at from order_events where order_id = ${orderId} and sequence = 2`;
  expect(events[1]).toEqual({
    cursor: expect.stringMatching(/^\d+$/),
    type: 'order.assigned',
    timestamp: event?.at.toISOString(),
    data: {
      order_id: orderId,
      retailer_id: retailerId,
      sequence: 2,
      status: 'driver_assigned',
      payment_status: 'processing',
      driver_id: driverId,
      deliver_by: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      estimated_delivery: null,
    },
  });
});

test('an order that was given back shows no driver, and says why', async () => {
  const driverId = await newDriver();
  const orderId = await newOrder(driverId);
  await store.releaseOrder(orderId, driverId, 'vehicle', UNSTAMPED);
  await tell();
  const { events } = await read(null);
  expect(events.at(-1)).toMatchObject({
    type: 'order.released',
    data: { status: 'pending_dispatch', driver_id: null, reason: 'vehicle' },
  });
  expect(JSON.stringify(events.at(-1))).not.toContain(driverId);
  expect(await types(orderId)).toEqual(['order.assigned', 'order.released']);
});

test('a statement of many orders has the event of each', async () => {
  const orderIds = [];
  for (let i = 0; i < 5; i++) orderIds.push(await newOrder(await newDriver()));
  const attempts = [];
  for (const orderId of orderIds) attempts.push(await openAttempt(sql, orderId));
  const paid = orderIds.map((orderId) => ({ orderId, attempt: 1, paymentIntentId: `pi_${orderId}`, outboxId: 0 }));
  await store.recordPaid(paid);
  await tell();
  const events = (await numbered()).filter(({ type }) => type === 'order.paid');
  expect(events.map(({ orderId }) => orderId).toSorted()).toEqual(orderIds.toSorted());
  const { events: told } = await read(null);
  expect(told.filter(({ type }) => type === 'order.paid').every(({ data }) => data.payment_status === 'paid')).toBe(
    true,
  );
});

test('an event that a person writes has a number too', async () => {
  const orderId = await newOrder();
  await sql`
    with changed as (
      update orders set status = 'cancelled', sequence = sequence + 1 where id = ${orderId} returning id, sequence
    )
    insert into order_events (order_id, sequence, type, data)
    select id, sequence, 'cancelled', '{"by": "store", "reason": "duplicate", "note": "not told"}' from changed`;
  await tell();
  const { events } = await read(null);
  expect(events.at(-1)).toMatchObject({
    type: 'order.cancelled',
    data: { status: 'cancelled', by: 'store', reason: 'duplicate' },
  });
  expect(JSON.stringify(events)).not.toContain('not told');
});

test('an event that is committed late gets a later number, and no reader skips it', async () => {
  const [early, late] = [await newOrder(), await newOrder()];
  await tell();
  const after = (await read(null)).nextCursor;
  const other = await openTransaction(database);
  await storeOf(other.sql, 'other').cancelOrder(early, 'operator', 'other');
  await store.cancelOrder(late, 'operator', 'other');
  await tell();
  const first = await read(after);
  expect(first.events.map(({ data }) => data.order_id)).toEqual([late]);
  await other.commit();
  await tell();
  const second = await read(first.nextCursor);
  expect(second.events.map(({ data }) => data.order_id)).toEqual([early]);
});

test('writers at once leave no gap, double nothing, and keep the order of each order', async () => {
  const orderIds: string[] = [];
  const before = await lastNumber();
  for (let i = 0; i < 20; i++) {
    const driverId = await newDriver();
    const orderId = await newOrder(driverId);
    orderIds.push(orderId);
    await store.pickUpOrder(orderId, driverId, UNSTAMPED);
    await store.markUndeliverable(orderId, driverId, 'other', UNSTAMPED);
  }
  const connections = [0, 1, 2].map((n) => connect({ url: database.url, applicationName: `writer ${n}`, max: 1 }));
  onTestFinished(async () => void (await Promise.all(connections.map((each) => each.end({ timeout: 1 })))));
  await Promise.all(
    connections.map(async (each) => {
      while ((await storeOf(each, 'writer').numberEvents(true, 7)).isMore);
    }),
  );
  await tell();
  const events = (await numbered()).filter(({ number }) => number > before);
  expect(events.map(({ number }) => number)).toEqual(events.map((_, i) => before + 1 + i));
  expect(events).toHaveLength(4 * orderIds.length);
  for (const orderId of orderIds) {
    const own = events.filter((event) => event.orderId === orderId);
    expect(own.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
  }
  const [{ doubled } = {}] = await sql`
    select count(*)::int as doubled from (
      select from webhook_deliveries group by order_id, sequence having count(*) > 1) d`;
  expect(doubled).toBe(0);
});

test('a writer waits for the one before, and goes on from its number', async () => {
  const other = await openTransaction(database);
  await newOrder();
  const { events } = await storeOf(other.sql, 'other').numberEvents();
  expect(events).toBe(1);
  await newOrder();
  const mine = tell();
  await untilBlocked(database);
  await other.commit();
  expect(await mine).toMatchObject({ events: 1 });
  const [first, second] = (await numbered()).map(({ number }) => number) as [number, number];
  expect(second).toBe(first + 1);
});

test('a writer that dies in the middle has done nothing, and the next one does it all', async () => {
  const orderId = await newOrder(await newDriver());
  const before = await lastNumber();
  const dying = connect({ url: database.url, applicationName: 'dying', max: 1 });
  await dying.unsafe('begin').simple();
  expect(await storeOf(dying, 'dying').numberEvents()).toMatchObject({ events: 2, outbox: [{ queue: 'webhook' }] });
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'dying'`;
  await dying.end({ timeout: 1 });
  expect(await lastNumber()).toBe(before);
  expect(await tell()).toMatchObject({ events: 2, outbox: [{ queue: 'webhook' }] });
  expect((await numbered()).map(({ number }) => number)).toEqual([before + 1, before + 2]);
  expect(await types(orderId)).toEqual(['order.assigned']);
});

test('a restored copy of the tables goes on with the next number, and cursors stay good', async () => {
  await newOrder(await newDriver());
  await tell();
  await newOrder();
  const { events, nextCursor } = await read(null);
  const copy = await freshDatabase();
  try {
    await copy.sql`truncate told_events, event_head`;
    for (const name of ['orders', 'told_events', 'unnumbered_events', 'store_events', 'event_head']) {
      const table = sql(name);
      const [row] = await sql`select coalesce(json_agg(t), '[]')::text as all from ${table} t`;
      await copy.sql`
        insert into ${table} overriding system value
        select * from json_populate_recordset(null::${table}, ${row?.all}::text::json)`;
    }
    const again = storeOf(copy.sql, 'restored');
    expect((await again.readEvents(retailerId, null, 100)).events).toEqual(events);
    expect(await again.numberEvents()).toMatchObject({ events: 1 });
    const page = await again.readEvents(retailerId, behind(nextCursor), 100);
    expect(page.events.map(({ cursor, type }) => [cursor, type])).toEqual([
      [String(Number(nextCursor) + 1), 'order.created'],
    ]);
  } finally {
    await copy.drop();
  }
});

test('pages follow each other, and a page that is not full goes to the last number of all stores', async () => {
  for (let i = 0; i < 3; i++) await newOrder();
  await tell();
  const first = await read(null, 2);
  expect(first.events).toHaveLength(2);
  expect(first.nextCursor).toBe(first.events[1]?.cursor);
  const second = await read(first.nextCursor, 2);
  expect(second.events).toHaveLength(1);
  expect(second).toMatchObject({ nextCursor: String(await lastNumber()), isUnknown: false, lostBefore: null });
  expect(await read(second.nextCursor)).toMatchObject({ events: [], nextCursor: second.nextCursor });
  expect((await read(String((await lastNumber()) + 1))).isUnknown).toBe(true);
});

test('a plain number is known up to the last one that was shown as such, so that none measures what came since', async () => {
  await newOrder();
  await tell();
  const last = await lastNumber();
  const isUnknown = async (number: number) =>
    (await store.readEvents(retailerId, { number: String(number), isPlain: true }, 100)).isUnknown;
  await sql`update event_head set plain_number = number - 1, plain_until = now() - interval '1 second'`;
  expect([await isUnknown(last - 1), await isUnknown(last), await isUnknown(last + 1)]).toEqual([false, true, true]);
  // While a process of the version before may be at work, it shows what is given, by itself too.
  await sql`update event_head set plain_until = now() + interval '1 minute'`;
  await sql`update event_head set number = number + 0`;
  expect([await isUnknown(last), await isUnknown(last + 1)]).toEqual([false, true]);
  await newOrder();
  await tell();
  await sql`update event_head set plain_until = now() - interval '1 second'`;
  await newOrder();
  await tell();
  expect([await isUnknown(last + 1), await isUnknown(last + 2)]).toEqual([false, true]);
});

test('a store reads its own events alone, and a reader of several stores reads them in the order of their numbers', async () => {
  const [own, elsewhere] = [retailerId, crypto.randomUUID()];
  const mine = await newOrder();
  await tell();
  await sql`
    with head as (update event_head set number = number + 1 returning number)
    insert into store_events select number, gen_random_uuid(), 1, ${elsewhere}, 'order.created', now(), 'x', 'y' from head`;
  await newOrder();
  await tell();
  expect((await read(null)).events.every(({ data }) => data.retailer_id === own)).toBe(true);
  const { events } = await store.readEventsOfStores([elsewhere, own], null, 100);
  expect(events.map(({ data }) => data.retailer_id)).toEqual([own, elsewhere, own]);
  expect(events[0]?.data.order_id).toBe(mine);
  const full = await store.readEventsOfStores([elsewhere, own], null, 2);
  expect([full.events, full.nextCursor]).toEqual([events.slice(0, 2), events[1]?.cursor]);
});

test('pages of many stores end where the part of one of them ends, and none of their events is left out', async () => {
  const chain = Array.from({ length: MAX_ORGANIZATION_STORES }, () => crypto.randomUUID());
  const [busy = '', quiet = ''] = chain;
  const stores = [quiet, ...Array<string>(LIST_SCAN_ROWS_PER_STORE + 2).fill(busy), quiet];
  await sql`
    with head as (update event_head set number = number + ${stores.length} returning number)
    insert into store_events
    select number - ${stores.length} + s.nth, gen_random_uuid(), 1, s.id, 'order.created', now(), 'x', 'y'
    from head, unnest(${stores}::uuid[]) with ordinality s(id, nth)`;
  const first = await store.readEventsOfStores(chain, null, 100);
  expect(first.events).toHaveLength(1 + LIST_SCAN_ROWS_PER_STORE);
  const second = await store.readEventsOfStores(chain, behind(first.nextCursor), 100);
  expect([...first.events, ...second.events].map(({ data }) => data.retailer_id)).toEqual(stores);
  expect(second.nextCursor).toBe(String(await lastNumber()));
});

test('old events are deleted in steps, the last number stays, and an old cursor hears of it', async () => {
  for (let i = 0; i < 3; i++) await newOrder();
  await tell();
  const { events } = await read(null);
  await sql`update store_events set at = now() - interval '31 days' where number <= ${events[1]?.cursor ?? ''}`;
  const last = await lastNumber();
  expect(await store.pruneEvents(30, 1)).toBe(1);
  while ((await store.pruneEvents(30, 5)) > 0);
  expect((await read(null)).events).toEqual(events.slice(2));
  expect(await lastNumber()).toBe(last);
  expect((await read(null)).lostBefore).toBeNull();
  expect((await read(events[0]?.cursor ?? '')).lostBefore).toBeInstanceOf(Date);
  expect((await read(events[1]?.cursor ?? '')).lostBefore).toBeNull();
  await sql`update store_events set at = now() - interval '31 days'`;
  while ((await store.pruneEvents(30, 5)) > 0);
  expect(await lastNumber()).toBe(last);
  await newOrder();
  await tell();
  expect((await numbered()).map(({ number }) => number)).toEqual([last + 1]);
});

test('an old event behind a younger one waits for it, so that none is passed over', async () => {
  await sql`update store_events set at = now() - interval '31 days'`;
  while ((await store.pruneEvents(30, 100)) > 0);
  for (let i = 0; i < 3; i++) await newOrder();
  await tell();
  const { events } = await read(null);
  const age = (index: number) => sql`
    update store_events set at = now() - interval '31 days' where number = ${events[index]?.cursor ?? ''}`;
  await age(0);
  await age(2);
  expect(await store.pruneEvents(30, 100)).toBe(1);
  await age(1);
  expect(await store.pruneEvents(30, 100)).toBe(2);
  expect((await read(null)).events).toEqual(events.slice(3));
});

test('readers get one notice a turn with the stores that have events', async () => {
  await newOrder();
  await newOrder();
  const notices = await noticesDuring(database, tell);
  expect(notices.filter((notice) => notice.includes(':events:'))).toEqual([`test:events:${retailerId}`]);
  expect(await noticesDuring(database, tell)).toEqual([]);
});

test('the lag counts what has no number', async () => {
  await tell();
  expect(await store.readEventLag()).toEqual({ events: 0, oldestSeconds: 0 });
  const orderId = await newOrder();
  await sql`update unnumbered_events set at = now() - interval '1 minute' where order_id = ${orderId}`;
  const { events, oldestSeconds } = await store.readEventLag();
  expect(events).toBe(1);
  expect(oldestSeconds).toBeGreaterThanOrEqual(60);
});

test('the table of what is told has the types of the code, with what the documents say of each', async () => {
  const rows = await sql`select type, details from told_events order by type`;
  const said = [...STORE_EVENT_TYPES].toSorted().map((type) => {
    const { details, atTimes } = WEBHOOKS[type] ?? {};
    return { type, details: Object.keys({ ...details, ...atTimes }).toSorted() };
  });
  // The path of the photo is made from the order.
  const made = (type: string): string[] => (type === 'order.proof_available' ? ['photo'] : []);
  expect(rows.map(({ type, details }) => ({ type, details: [...details, ...made(type)].toSorted() }))).toEqual(said);
});
