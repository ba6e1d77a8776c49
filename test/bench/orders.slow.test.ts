import { expect, test } from 'vitest';
import { RUN_MS, STEP_MS } from '../harness/patience.ts';
import { hasRedis } from '../harness/redis.ts';
import { runBenchmark } from './run-benchmark.ts';

// It ends with 1 where an order was not answered with 201, one that was is not in the tables, or a driver has two.
test.skipIf(!hasRedis())(
  'a small burst: every order is answered with 201 and stored, no driver has two, beside both peers',
  async () => {
    const said = await runBenchmark('orders', '--small', '--only', 'burst', '--connections', '4');
    expect(said).toMatch(/\| created, matched, durable +\| [1-9][\d,.]* /);
    expect(said).toMatch(/\| parse, validate, reply +\| [1-9][\d,.]* /);
    expect(said).toMatch(/\| bare inserts, one commit in flight +\| [1-9][\d,.]* /);
    expect(said).not.toContain('FAILED');
  },
  RUN_MS + STEP_MS,
);
