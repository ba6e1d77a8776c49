import { expect, test } from 'vitest';
import { openMetrics } from '../../src/build/metrics.ts';
import type { Sql } from '../../src/store/connect.ts';

test('the process is measured, but for its open files: to count them takes longer the more sockets there are', async () => {
  const sql = (async () => Promise.reject(new Error('away'))) as unknown as Sql;
  const text = await openMetrics({ sql, isAway: () => true }).registry.metrics();
  expect(text).toContain('process_resident_memory_bytes');
  expect(text).toContain('sameday_http_requests_total');
  expect(text).toContain('sameday_database_up 0');
  expect(text).not.toContain('process_open_fds');
});
