import { Pool } from 'pg';
import { beforeEach, expect, test } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { migrateQueues } from '../../src/queues/queues.ts';
import type { Store } from '../../src/store/store.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { storeOf } from '../harness/store.ts';
import { reading } from './transaction.ts';

/** So many rows that a scan of a whole table is never faster than an index. */
const ROWS = 20_000;

const database = await useFreshDatabase();
const { sql } = database;
beforeEach(async () => {
  await sql`truncate outbox, webhook_deliveries, driver_actions`;
});

async function addActions(count: number, age: string): Promise<void> {
  await sql`
    insert into driver_actions (driver_id, action_id, order_id, type, status, sequence, received_at)
    select ${newId()}, n::text, ${newId()}, 'picked_up', 'picked_up', 2, now() - ${age}::interval
    from generate_series(1, ${count}::int) n`;
}

test('old actions of drivers are deleted, up to a limit', async () => {
  await addActions(3, '8 days');
  await addActions(2, '6 days');
  expect(await storeOf(sql).pruneDriverActions(7, 2)).toBe(2);
  expect(await storeOf(sql).pruneDriverActions(7, 2)).toBe(1);
  expect(await storeOf(sql).pruneDriverActions(7, 2)).toBe(0);
  expect(await sql`select action_id from driver_actions`).toHaveLength(2);
});

test('a pause of a queue that a wrong clock has set ahead is ended, and another is not', async () => {
  const store = storeOf(sql);
  // The queues are on Redis.
  await store.endPausesAhead();
  const pool = new Pool({ connectionString: database.url, options: '-c search_path=bullmq' });
  await migrateQueues(pool);
  await pool.end();
  await sql`
    insert into bullmq.rate_limit (queue, expire_at_ms)
    select queue, extract(epoch from now()) * 1000 + lead from (values ('sms', 3600000), ('charge', 1000)) p (queue, lead)`;
  await store.endPausesAhead();
  expect(await sql`select queue from bullmq.rate_limit`).toEqual([{ queue: 'charge' }]);
});

/** Number of sequential scans during `work`. */
const wholeReads = async (table: string, work: (store: Store) => Promise<unknown>) =>
  (await reading(database, [table], work)).wholeReads;

test('jobs are deleted and counted without a scan of all that are kept', async () => {
  await sql`
    insert into outbox (queue, order_id, retailer_id, lease_until, created_at, done_at, failure_code)
    select 'charge', gen_random_uuid(), gen_random_uuid(), now(), now() - interval '8 days',
      case when n > 20 then now() - make_interval(mins => n) end, case when n between 21 and 30 then 'lost_card' end
    from generate_series(1, ${ROWS}::int) n`;
  await sql`vacuum analyze outbox`;
  expect(await wholeReads('outbox', (s) => s.pruneOutbox(7, 5_000))).toBe(0);
  expect(await wholeReads('outbox', (s) => s.pruneOutbox(30, 5_000))).toBe(0);
  expect(await wholeReads('outbox', (s) => s.readBacklog())).toBe(0);
  expect((await storeOf(sql).readBacklog())[0]).toMatchObject({ queue: 'charge', owed: 20, failed: 10 });
});

test('a backlog that was most of the table is counted by what is left of it, and what is due later is not read', async () => {
  await sql`alter table outbox set (autovacuum_enabled = false)`;
  await sql`
    insert into outbox (queue, order_id, retailer_id, run_at, lease_until)
    select 'sms', gen_random_uuid(), gen_random_uuid(), now(), now() + interval '15 minutes'
    from generate_series(1, ${ROWS}::int)`;
  await sql`analyze outbox`;
  await sql`update outbox set done_at = now() where id % 2000 <> 0`;
  await sql`
    insert into outbox (queue, order_id, retailer_id, run_at, lease_until)
    select 'redispatch', gen_random_uuid(), gen_random_uuid(), now() + interval '1 day', now() + interval '1 day'
    from generate_series(1, 1000)`;
  const { result: backlog, ...read } = await reading(database, ['outbox'], (s) => s.readBacklog());
  expect(backlog.filter(({ owed }) => owed > 0)).toMatchObject([{ queue: 'sms', owed: ROWS / 2_000 }]);
  expect(read.wholeReads).toBe(0);
  expect(read.rows).toBeLessThan(ROWS / 2_000 + 100);
});

test('counts of texts are deleted without a scan of those of the day', async () => {
  await sql`
    insert into text_counts (about, day, texts)
    select 'phone:' || n, (now() at time zone 'UTC')::date - n % 2, 1 from generate_series(1, ${ROWS}::int) n`;
  await sql`
    insert into text_counts (about, day, texts)
    select 'phone:' || n, (now() at time zone 'UTC')::date - 2, 1 from generate_series(1, 10) n`;
  await sql`vacuum analyze text_counts`;
  const deleted: number[] = [];
  const prune = async (s: Store) => void deleted.push(await s.pruneTextCounts(2, 5_000));
  expect(await wholeReads('text_counts', prune)).toBe(0);
  expect(deleted).toEqual([10]);
});

test('deliveries and drivers’ actions are deleted without a scan of all that are kept', async () => {
  await sql`
    insert into webhook_deliveries (outbox_id, retailer_id, order_id, type, sequence, payload, status, created_at)
    select n, gen_random_uuid(), gen_random_uuid(), 'order.assigned', 2, '{}', 'delivered',
      now() - make_interval(hours => n % 800) from generate_series(1, ${ROWS}::int) n`;
  await addActions(1_000, '8 days');
  await addActions(ROWS, '1 day');
  await sql`vacuum analyze webhook_deliveries, driver_actions`;
  expect(await wholeReads('webhook_deliveries', (s) => s.pruneDeliveries(30, 5_000))).toBe(0);
  expect(await wholeReads('driver_actions', (s) => s.pruneDriverActions(7, 5_000))).toBe(0);
});
