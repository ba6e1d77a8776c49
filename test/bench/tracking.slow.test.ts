import { expect, test } from 'vitest';
import { RUN_MS, STEP_MS } from '../harness/patience.ts';
import { runBenchmark } from './run-benchmark.ts';

test('every page of a small run hears of every event once', { timeout: RUN_MS + STEP_MS }, async () => {
  const printed = await runBenchmark('tracking', '100');
  const rows = printed
    .split('\n')
    .filter((line) => line.startsWith('| an order each') || line.startsWith('| 50 an order'));
  const events = rows.slice(0, 5).map((line) =>
    line
      .split('|')
      .map((cell) => cell.trim())
      .slice(2, 5),
  );
  expect(events).toEqual([
    ['50.0', '50.0', '0.00'],
    ['50.0', '50.0', '0.00'],
    ['2.00', '100', '0.00'],
    ['2.00', '100', '0.00'],
    ['2.00', '100', '0.00'],
  ]);
});
