import { expect, test } from 'vitest';
import { RUN_MS, STEP_MS } from '../harness/patience.ts';
import { findPostgis } from '../harness/postgis.ts';
import { findRedisServer } from '../harness/redis.ts';
import { runBenchmark } from './run-benchmark.ts';

// It ends with 1 for a lost order or a driver with two.
test.skipIf(findRedisServer() === undefined || findPostgis() === undefined)(
  'the service and the plain one answer every order with 201, keep it and give no driver two',
  async () => {
    const output = await runBenchmark('peer', '--small');
    expect(output).toMatch(/## Burst[\s\S]*## Latency at equal load/);
    expect(output).not.toContain('FAILED');
  },
  RUN_MS + STEP_MS,
);
