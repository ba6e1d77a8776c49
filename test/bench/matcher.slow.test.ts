import { expect, test } from 'vitest';
import { RUN_MS, STEP_MS } from '../harness/patience.ts';
import { runBenchmark } from './run-benchmark.ts';

// It ends with 1 where the matcher's answer is not the one that looking at every driver gives.
test(
  'a small run beside the trees finds the drivers that a scan finds',
  async () => {
    const output = await runBenchmark('matcher', '--drivers', '1000', '--queries', '300', '--no-servers');
    for (const world of ['uniform', 'cities', 'hot_spot']) expect(output).toContain(`## ${world}, 1,000 drivers`);
    expect(output).toMatch(/nearest +\| rbush-knn/);
    expect(output).not.toContain('FAILED');
  },
  RUN_MS + STEP_MS,
);
