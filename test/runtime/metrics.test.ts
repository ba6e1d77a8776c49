import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { newId } from '../../src/domain/ids.ts';
import { openMetrics } from '../../src/runtime/metrics.ts';
import { REFUND_MISSING_SECONDS } from '../../src/store/operator/operator.ts';
import { QUEUES } from '../../src/store/outbox-rows.ts';
import { freshDatabase } from '../harness/database.ts';
import { addOrder, addStoreRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { failCharges } from '../harness/unpaid.ts';

test('the metrics of the process are there without its open files, whose count is slow with many sockets', async () => {
  const away = () => Promise.reject(new Error('away'));
  const store = {
    readBacklog: away,
    readOldestWaiting: away,
    readOldestPutOff: away,
    readEventLag: away,
    readWaitingWebhooks: away,
    readWatched: away,
  };
  const text = await openMetrics({ isAway: () => true }, store).registry.metrics();
  expect(text).toContain('process_resident_memory_bytes');
  expect(text).toContain('sameday_http_requests_total');
  expect(text).toContain('sameday_database_up 0');
  expect(text).not.toContain('process_open_fds');
});

test('every queue shows its owed jobs and their age, and so do waiting orders and events, also if there are none', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  await database.sql`
    insert into outbox (queue, order_id, retailer_id, run_at, lease_until)
    values ('refund', gen_random_uuid(), gen_random_uuid(), now() - interval '90 seconds', now())`;
  await database.sql`
    insert into outbox (queue, order_id, retailer_id, lease_until, done_at, failure_code)
    values ('charge', gen_random_uuid(), gen_random_uuid(), now(), now(), 'lost_card')`;
  const text = await openMetrics({ isAway: () => false }, storeOf(database.sql)).registry.metrics();
  for (const queue of QUEUES) {
    expect(text).toContain(`sameday_queue_owed{queue="${queue}"} ${queue === 'refund' ? 1 : 0}`);
    expect(text).toContain(`sameday_queue_oldest_seconds{queue="${queue}"} ${queue === 'refund' ? 9 : 0}`);
    expect(text).toContain(`sameday_queue_failed{queue="${queue}"} ${queue === 'charge' ? 1 : 0}`);
  }
  const { orderId } = await addOrder(database.sql, await addStoreRow(database.sql));
  await database.sql`update outbox set order_id = ${orderId} where queue = 'charge' and failure_code is not null`;
  await database.sql`update orders set payment_status = 'failed' where id = ${orderId}`;
  const failed = async () =>
    (await storeOf(database.sql).readBacklog()).find(({ queue }) => queue === 'charge')?.failed;
  expect(await failed()).toBe(1);
  await database.sql`update orders set payment_status = 'paid' where id = ${orderId}`;
  expect(await failed()).toBe(0);
  expect(text).toContain('sameday_orders_waiting_oldest_seconds 0');
  expect(text).toContain('sameday_events_unnumbered 0');
  expect(text).toContain('sameday_events_oldest_seconds 0');
  expect(text).toContain('sameday_webhooks_waiting 0');
});

test('the alert of missing figures fires for each statement that fails, and not for an empty database', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const { rules } = parse(readFileSync('docs/alerts.yml', 'utf8')).groups[0];
  const { expr } = rules.find(({ alert }: { alert: string }) => alert === 'figures are missing');
  const needed = [...expr.matchAll(/\babsent\(([^)]+)\)/g)].map(([, series]) => series);
  const missing = async (failing: object) => {
    const store = { ...storeOf(database.sql), ...failing };
    const text = await openMetrics({ isAway: () => false }, store).registry.metrics();
    return needed.filter((series) => !text.includes(`\n${series} `));
  };
  expect(await missing({})).toEqual([]);
  const away = () => Promise.reject(new Error('away'));
  const gauges = ['readBacklog', 'readOldestWaiting', 'readOldestPutOff', 'readEventLag', 'readWatched'];
  for (const statement of [...gauges, 'readWaitingWebhooks']) {
    expect(await missing({ [statement]: away }), statement).toHaveLength(1);
  }
});

test('what waits behind a receiver that fails, or is slow, has figures of its own and is no backlog of the queues', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const { sql } = database;
  await sql`
    insert into outbox (queue, order_id, retailer_id, run_at, lease_until, parked_for, parked_at)
    select 'event', gen_random_uuid(), gen_random_uuid(), now() + interval '1 day', now() + interval '1 day',
      '00000000-0000-7000-8000-000000000001', now() - interval '1 hour' from generate_series(1, 3)`;
  const { registry } = openMetrics({ isAway: () => false }, storeOf(sql));
  const text = await registry.metrics();
  expect(text).toContain('sameday_queue_owed{queue="event"} 0');
  expect(text).toContain('sameday_queue_oldest_seconds{queue="event"} 0');
  expect(text).toContain('sameday_webhooks_waiting 3');
  expect(text).toContain('sameday_webhooks_waiting_receivers{because="failing"} 1');
  expect(text).toMatch(/^sameday_webhooks_waiting_oldest_seconds\{because="failing"\} 36\d\d/m);
  expect(text).toContain('sameday_webhooks_waiting_receivers{because="slow"} 0');
});

test('what needs a person has a metric: missing refunds, failed and put-off charges, and disabled webhooks', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const { sql } = database;
  const store = await addStoreRow(sql);
  const end = async (count: number, status: string, payment: string, agoSeconds: number) => {
    for (let n = 0; n < count; n++) {
      const { orderId } = await addOrder(sql, store);
      await sql`
        update orders set status = ${status}, payment_status = ${payment},
          ended_at = now() - make_interval(secs => ${agoSeconds}), driver_id = ${newId()} where id = ${orderId}`;
    }
  };
  await end(2, 'cancelled', 'paid', REFUND_MISSING_SECONDS + 5);
  await end(1, 'expired', 'paid', REFUND_MISSING_SECONDS + 5);
  await end(1, 'expired', 'paid', REFUND_MISSING_SECONDS - 30);
  await end(1, 'cancelled', 'refunded', 600);
  await end(2, 'delivered', 'failed', 600);
  await end(1, 'cancelled', 'failed', 600);
  for (const because of ['failing', 'gone', 'off', null]) {
    await sql`
      insert into webhooks (id, retailer_id, url, secret, disabled_at, disabled_because)
      values (${newId()}, ${store.retailerId}, 'https://store.test/', 's', ${because && new Date()}, ${because})`;
  }
  const read = () => openMetrics({ isAway: () => false }, storeOf(sql)).registry.metrics();
  expect(await read()).toContain('sameday_charges_put_off_oldest_seconds 0');
  const [older = '', newer = ''] = await failCharges(sql, store, 2);
  await sql`update payments set first_sent_at = now() - interval '5 days' where order_id = ${older}`;
  await sql`insert into charge_retries (order_id, due_at) select unnest(${[older, newer]}::uuid[]), now()`;
  await sql`update orders set payment_status = 'paid' where id = any(${[older, newer]}::uuid[])`;
  const text = await read();
  expect(text).toMatch(/^sameday_charges_put_off_oldest_seconds 4320\d\d/m);
  expect(text).toContain('sameday_refunds_missing 3');
  expect(text).toContain('sameday_failed_charges 2');
  expect(text).toContain('sameday_webhooks_disabled 2');
});
