import { expect, onTestFinished, test } from 'vitest';
import type { Surplus } from '../../src/store/orders/orders.ts';
import { orderRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { noticesDuring, openTransaction } from './transaction.ts';
import { newDriver, newOrder, types, useWebhookWorld } from './webhook-world.ts';

const database = await useWebhookWorld();
const { sql } = database;

/** Orders that have waited for 100, 99, … seconds, oldest first; no other order waits. */
async function waitingOrders(count: number): Promise<string[]> {
  await sql`update orders set status = 'cancelled' where status = 'pending_dispatch'`;
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push(await newOrder());
  for (const [i, id] of ids.entries()) {
    await sql`update orders set created_at = now() - make_interval(secs => ${100 - i}) where id = ${id}`;
  }
  return ids;
}
const expire = async (changes: Partial<Surplus> = {}) => {
  const surplus = { createdBefore: new Date(), keep: 0, keepIds: [], limit: 1_000, ...changes };
  return (await storeOf(sql, 'me').expireSurplus(surplus)).map(({ id }) => id);
};
const statusOf = async (id: string) => (await orderRow(sql, id)).status;

test('the oldest waiting orders expire, as many as the limit says, and the newest are kept', async () => {
  const ids = await waitingOrders(7);
  expect((await expire({ keep: 2, limit: 3 })).sort()).toEqual(ids.slice(0, 3).sort());
  expect((await expire({ keep: 2, limit: 3 })).sort()).toEqual(ids.slice(3, 5).sort());
  expect(await expire({ keep: 2, limit: 3 })).toEqual([]);
  expect(await Promise.all(ids.slice(5).map(statusOf))).toEqual(['pending_dispatch', 'pending_dispatch']);
});

test('named orders stay besides the newest', async () => {
  const [named = '', other = '', newest = ''] = await waitingOrders(3);
  expect(await expire({ keep: 1, keepIds: [named] })).toEqual([other]);
  expect(await expire({ keep: 0, keepIds: [named] })).toEqual([newest]);
});

test('an order that is younger, or has a driver, or is being changed, stays', async () => {
  const [old = '', locked = '', young = ''] = await waitingOrders(3);
  const taken = await newOrder(await newDriver());
  const other = await openTransaction(database);
  onTestFinished(async () => void (await other.rollback()));
  await other.sql`select id from orders where id = ${locked} for update`;
  const { created_at: youngest } = await orderRow(sql, young);
  expect(await expire({ createdBefore: youngest as Date })).toEqual([old]);
  expect(await Promise.all([locked, young, taken].map(statusOf))).toEqual([
    'pending_dispatch',
    'pending_dispatch',
    'driver_assigned',
  ]);
});

test('an expiry of many is for each what the expiry of one is, but for the webhook', async () => {
  const [one = '', ...many] = await waitingOrders(3);
  await sql`update orders set expires_at = now() where id = ${one}`;
  // One of them was charged before it was released, and is owed its money.
  await sql`update orders set payment_status = 'paid' where id in (${one}, ${many[0] ?? ''})`;
  const single = await storeOf(sql, 'me').expireOrder(one);
  const notices = await noticesDuring(database, async () => {
    const expired = await storeOf(sql, 'me').expireSurplus({
      createdBefore: new Date(),
      keep: 0,
      keepIds: [],
      limit: 10,
    });
    const like = expired.find(({ id }) => id === many[0]);
    expect(like).toMatchObject({ sequence: single?.sequence, status: 'expired', driverId: null });
    expect(like?.outbox.map(({ queue }) => queue).sort()).toEqual(['refund']);
    expect(like?.outbox.every(({ orderId }) => orderId === many[0])).toBe(true);
    expect(expired.find(({ id }) => id === many[1])?.outbox).toEqual([]);
  });
  expect(notices).toHaveLength(1);
  expect(notices[0]?.replace('me:order:', '').split(',').sort()).toEqual([...many].sort());
  const writtenFor = async (id: string) => {
    const { status, reason_code, sequence } = await orderRow(sql, id);
    const events = await sql`select sequence, type, data from order_events where order_id = ${id} order by sequence`;
    const told = await types(id);
    const jobs = await sql`
      select queue, done_at is not null as done from outbox where order_id = ${id} order by queue`;
    return { status, reason_code, sequence, events: [...events], jobs: [...jobs], told };
  };
  const written = await writtenFor(one);
  expect(written.told).toEqual(['order.expired']);
  expect(written.jobs).toContainEqual({ queue: 'redispatch', done: true });
  const jobs = written.jobs.filter(({ queue }) => queue !== 'webhook');
  const events = written.events.map((event) =>
    event.type === 'expired' ? { ...event, data: { by: 'sandbox' } } : event,
  );
  expect(await writtenFor(many[0] ?? '')).toEqual({ ...written, events, jobs, told: [] });
});

test('hundreds of orders share notices', async () => {
  const ids = await waitingOrders(1);
  await sql`
    insert into orders (id, retailer_id, customer_id, dropoff_address_id, status, delivery_tier, delivery_fee_cents,
      driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address, pickup_lat, pickup_lng,
      pickup_point_source, created_at, expires_at)
    select gen_random_uuid(), retailer_id, customer_id, dropoff_address_id, status, delivery_tier, delivery_fee_cents,
      driver_payout_cents, payment_status, sms_status, tracking_token || n, pickup_address, pickup_lat, pickup_lng,
      pickup_point_source, created_at, expires_at
    from orders, generate_series(1, 450) n where id = ${ids[0] ?? ''}`;
  let expired: string[] = [];
  const notices = await noticesDuring(database, async () => {
    expired = await expire();
  });
  expect(expired).toHaveLength(451);
  expect(notices).toHaveLength(3);
  expect(notices.flatMap((notice) => notice.replace('me:order:', '').split(',')).sort()).toEqual(expired.sort());
});
