import { expect, test } from 'vitest';
import { NOTICE_IDS } from '../../src/store/fragments.ts';
import { ESTIMATE_MOVED_MS, ESTIMATE_TOLD_EVERY_MS } from '../../src/store/planning/plans.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addStoreRow, orderRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { addWaiting, inOneStep, leaseOf, MINUTE, nowMs, plan, rangeAt } from './plan-world.ts';
import { noticesDuring, openTransaction } from './transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;
const store = await addStoreRow(sql);
const driverId = await addDriverRow(sql);
let lease = await leaseOf(sql);
const me = storeOf(sql, 'me');

const MOVED_MINUTES = ESTIMATE_MOVED_MS / MINUTE;
const write = (orderId: string, doorMs: number, by = lease) => me.writePlans(by, [plan(orderId, driverId, doorMs)], []);
const told = async (orderId: string) => {
  const rows = await sql`
    select sequence, data from order_events where order_id = ${orderId} and type = 'estimate_changed' order by sequence`;
  return rows.map(({ sequence, data }) => ({ sequence, data }));
};
/** Makes what was told of an order so old that it may be told again. */
const age = (orderId: string) => sql`
  update order_events set at = at - make_interval(secs => ${ESTIMATE_TOLD_EVERY_MS / 1_000 + 1})
  where order_id = ${orderId}`;

/** A waiting order that is planned so many minutes ahead, and when it is at the door. */
async function addPlanned(minutes: number): Promise<{ orderId: string; doorMs: number }> {
  const orderId = await addWaiting(sql, store);
  const doorMs = (await nowMs(sql)) + minutes * MINUTE;
  expect(await write(orderId, doorMs)).toBe(true);
  return { orderId, doorMs };
}

test('a plan that moved by more than five minutes from what was said is an event, and no smaller move is', async () => {
  const { found, readMs } = await inOneStep(sql, async () => {
    const { orderId, doorMs } = await addPlanned(40);
    await write(orderId, doorMs + (MOVED_MINUTES - 1) * MINUTE);
    await write(orderId, doorMs - (MOVED_MINUTES - 1) * MINUTE);
    expect(await told(orderId)).toEqual([]);
    const movedMs = doorMs + (MOVED_MINUTES + 1) * MINUTE;
    await write(orderId, movedMs);
    return { orderId, movedMs };
  });
  const { orderId, movedMs } = found;
  const [event, ...others] = await told(orderId);
  expect(event?.data).toEqual({ estimated_delivery: rangeAt(movedMs, readMs) });
  expect(others).toEqual([]);
  expect(await orderRow(sql, orderId)).toMatchObject({
    status: 'pending_dispatch',
    payment_status: 'not_charged',
    sequence: event?.sequence,
  });
  const [row] = await sql`select said_at, door_at from plans where order_id = ${orderId}`;
  expect(row).toMatchObject({ said_at: new Date(movedMs), door_at: new Date(movedMs) });
});

test('the store hears of it by webhook and in its events, as of any other event', async () => {
  await me.setWebhook(store.retailerId, 'https://store.test/hook', 'whsec_c2VjcmV0');
  await sql`update webhooks set event_types = null where retailer_id = ${store.retailerId}`;
  const { orderId, doorMs } = await addPlanned(40);
  const earlierMs = doorMs - (MOVED_MINUTES + 1) * MINUTE;
  await write(orderId, earlierMs);
  const [event] = await told(orderId);
  while ((await me.numberEvents()).isMore);
  const { events } = await me.readEvents(store.retailerId, null, 1_000);
  const heard = events.filter(({ type, data }) => type === 'order.estimate_changed' && data.order_id === orderId);
  expect(heard).toEqual([
    {
      cursor: expect.any(String),
      type: 'order.estimate_changed',
      timestamp: expect.any(String),
      data: {
        order_id: orderId,
        retailer_id: store.retailerId,
        sequence: 2,
        status: 'pending_dispatch',
        payment_status: 'not_charged',
        driver_id: null,
        deliver_by: expect.any(String),
        ...event?.data,
      },
    },
  ]);
  const sent = await sql`
    select payload from webhook_deliveries where order_id = ${orderId} and type = 'order.estimate_changed'`;
  expect(sent.map(({ payload }) => payload.data)).toEqual(heard.map(({ data }) => data));
  await sql`delete from webhooks`;
});

test('an order is told of once in a while, and then also where its plan rests', async () => {
  const { orderId, doorMs } = await addPlanned(40);
  await write(orderId, doorMs + 6 * MINUTE);
  for (const minutes of [0, 12, 0, 12]) await write(orderId, doorMs + minutes * MINUTE);
  expect(await told(orderId)).toHaveLength(1);
  await me.writePlans(lease, [], []);
  expect(await told(orderId)).toHaveLength(1);
  await age(orderId);
  for (let turn = 0; turn < 3; turn++) await me.writePlans(lease, [], []);
  expect((await told(orderId)).map(({ sequence }) => sequence)).toEqual([2, 3]);
  await age(orderId);
  await me.writePlans(lease, [], []);
  expect(await told(orderId)).toHaveLength(2);
});

test('nothing is told where another process plans, of an order with a driver, or where the nearest one takes it', async () => {
  const { orderId, doorMs } = await addPlanned(40);
  const stale = { ...lease, epoch: lease.epoch - 1 };
  const notices = await noticesDuring(database, async () => {
    expect(await write(orderId, doorMs + 20 * MINUTE, stale)).toBe(false);
  });
  expect(notices).toEqual([]);
  await me.setTier('standard', { dispatchMode: 'nearest' });
  await write(orderId, doorMs + 20 * MINUTE);
  await me.setTier('standard', { dispatchMode: 'planned' });
  expect(await told(orderId)).toEqual([]);
  const taken = await addDriverRow(sql);
  expect(await me.assignWaiting(orderId, { driverId: taken, shownMeters: 1 })).toMatchObject({ kind: 'assigned' });
  await write(orderId, doorMs - 20 * MINUTE);
  expect(await told(orderId)).toEqual([]);
});

test('an order that is just being changed keeps no plan waiting, and is told of by the next call', async () => {
  const { orderId, doorMs } = await addPlanned(40);
  const other = await openTransaction(database);
  await other.sql`update orders set sms_status = 'sent', sequence = sequence + 1 where id = ${orderId}`;
  expect(await write(orderId, doorMs + 20 * MINUTE)).toBe(true);
  expect(await told(orderId)).toEqual([]);
  await other.commit();
  await me.writePlans(lease, [], []);
  expect((await told(orderId)).map(({ sequence }) => sequence)).toEqual([3]);
});

test('pages read an order again whose plan is new, moved far or ended, and no other; also those of the planner', async () => {
  const orderId = await addWaiting(sql, store);
  const doorMs = (await nowMs(sql)) + 40 * MINUTE;
  const during = (work: () => Promise<unknown>) => noticesDuring(database, work);
  expect(await during(() => write(orderId, doorMs))).toEqual([`:details:${orderId}`]);
  expect(await during(() => write(orderId, doorMs))).toEqual([]);
  expect(await during(() => write(orderId, doorMs + MINUTE))).toEqual([]);
  expect(await during(() => write(orderId, doorMs + 9 * MINUTE))).toEqual([`:details:${orderId}`]);
  expect(await during(() => me.writePlans(lease, [], [orderId]))).toEqual([`:details:${orderId}`]);
  expect(await during(() => me.writePlans(lease, [], [orderId]))).toEqual([]);
  const { orderId: gone } = await addPlanned(40);
  await me.cancelOrder(gone, 'operator', 'other');
  expect(await during(() => me.writePlans(lease, [], [gone]))).toEqual([]);
});

test('many new plans have as many notices as are needed', async () => {
  const [row] = await sql`
    select jsonb_agg(gen_random_uuid()) as ids from generate_series(1, ${NOTICE_IDS + 5})`;
  const ids: string[] = row?.ids;
  const doorMs = (await nowMs(sql)) + 40 * MINUTE;
  const notices = await noticesDuring(database, () =>
    me.writePlans(
      lease,
      ids.map((id) => plan(id, driverId, doorMs)),
      [],
    ),
  );
  const named = notices.flatMap((notice) => notice.replace(':details:', '').split(','));
  expect(notices.length).toBe(2);
  expect(named.toSorted()).toEqual(ids.toSorted());
  await me.writePlans(lease, [], ids);
});

test('the next planner forgets the plans of the one before, tells nobody of them, and keeps what was said', async () => {
  const kept = await addPlanned(40);
  const old = await addPlanned(40);
  await sql`update plans set said_at = said_at - interval '20 minutes' where order_id = ${old.orderId}`;
  await sql`update planner_leases set expires_at = now()`;
  lease = await leaseOf(sql, 'next');
  await write(kept.orderId, kept.doorMs + (MOVED_MINUTES + 1) * MINUTE);
  expect(await told(kept.orderId)).toHaveLength(1);
  expect(await told(old.orderId)).toEqual([]);
  await storeOf(sql).writePlans(lease, [], [], true);
  const rows = await sql`select order_id from plans where order_id in (${kept.orderId}, ${old.orderId})`;
  expect(rows.map(({ order_id }) => order_id)).toEqual([kept.orderId]);
});
