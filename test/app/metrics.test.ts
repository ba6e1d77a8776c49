import { expect, onTestFinished, test } from 'vitest';
import { openMetrics } from '../../src/app/metrics.ts';
import { QUEUES } from '../../src/store/outbox-rows.ts';
import { freshDatabase } from '../harness/database.ts';
import { storeOf } from '../harness/store.ts';

test('the metrics of the process are there without its open files, whose count is slow with many sockets', async () => {
  const away = () => Promise.reject(new Error('away'));
  const store = { readBacklog: away, readOldestWaiting: away, readEventLag: away };
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
  const text = await openMetrics({ isAway: () => false }, storeOf(database.sql)).registry.metrics();
  for (const queue of QUEUES) {
    expect(text).toContain(`sameday_queue_owed{queue="${queue}"} ${queue === 'refund' ? 1 : 0}`);
    expect(text).toContain(`sameday_queue_oldest_seconds{queue="${queue}"} ${queue === 'refund' ? 9 : 0}`);
  }
  expect(text).toContain('sameday_orders_waiting_oldest_seconds 0');
  expect(text).toContain('sameday_events_unnumbered 0');
  expect(text).toContain('sameday_events_oldest_seconds 0');
});
