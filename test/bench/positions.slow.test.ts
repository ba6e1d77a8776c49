import { expect, test } from 'vitest';
import { RUN_MS, STEP_MS } from '../harness/patience.ts';
import { hasRedis } from '../harness/redis.ts';
import { runBenchmark } from './run-benchmark.ts';

test('every report of a small run is taken, followed up and written', { timeout: RUN_MS + STEP_MS }, async () => {
  const printed = await runBenchmark('positions', '200', '2');
  const row = (start: string) => printed.split('\n').find((line) => line.startsWith(`| ${start}`)) ?? '';
  expect(row('service without Redis, 1 a second each')).toMatch(/ 4\.00 +\|$/);
  expect(row('service without Redis, burst')).not.toBe('');
  expect(printed).toContain('2 orders asked who is nearest');
  if (hasRedis()) expect(row('Redis')).toContain('GEOADD');
});
