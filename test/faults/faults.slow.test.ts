import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hasHaproxy } from '../harness/haproxy.ts';
import { RUN_MS, STEP_MS } from '../harness/patience.ts';
import { hasRedis } from '../harness/redis.ts';
import { missingForCluster } from './cluster.ts';

const ROOT = join(import.meta.dirname, '../..');

/**
 * Runs `npm run faults` with these arguments; resolves with its output, and rejects on any exit code but 0.
 */
function run(...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const all = [join(ROOT, 'scripts/faults.mjs'), '--no-results', ...args];
    execFile(process.execPath, all, { cwd: ROOT, timeout: RUN_MS }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${stdout}\n${stderr}`));
      else resolve(stdout);
    });
  });
}

// The exit code is 1 where the records of clients and vendors contradict the tables.
test.skipIf(!hasRedis())(
  'identical requests with one key, on two API processes',
  () => faultless('same-key', '0.02'),
  RUN_MS + STEP_MS,
);
test.skipIf(!hasRedis())(
  'an API process that is killed under load',
  () => faultless('kill-api', '0.01'),
  RUN_MS + STEP_MS,
);
test.skipIf(!hasRedis())(
  'the process that plans is killed, stands still, and is told to stop',
  () => faultless('planner-killed', '0.1'),
  RUN_MS + STEP_MS,
);
test.skipIf(!hasRedis())('dispatch modes, to and fro', () => faultless('dispatch-mode', '0.05'), RUN_MS + STEP_MS);
test(
  'bodies that are mutated, against a second reading of the contract',
  () => faultless('mutated-bodies', '0.002'),
  RUN_MS + STEP_MS,
);
test('raw requests that are malformed or misleading', () => faultless('raw-sockets', '0.005'), RUN_MS + STEP_MS);
test.skipIf(!hasRedis())(
  'random sequences of commands, against a model of an order in one process',
  () => faultless('model-in-process', '0.005'),
  RUN_MS + STEP_MS,
);
test.skipIf(!hasRedis() || missingForCluster().length > 0)(
  'a primary of Postgres that is killed, with HAProxy in front',
  () => faultless('failover-killed', '0.1'),
  RUN_MS + STEP_MS,
);
test.skipIf(!hasRedis())(
  'a Redis that loses its last writes',
  () => faultless('redis-behind', '0.1'),
  RUN_MS + STEP_MS,
);
test.skipIf(!hasRedis())('a Redis that loses everything', () => faultless('redis-emptied', '0.1'), RUN_MS + STEP_MS);

test.skipIf(!hasRedis() || !hasHaproxy())(
  'a roll behind HAProxy to a build with one migration more',
  () => faultless('two-builds', '0.17'),
  RUN_MS + STEP_MS,
);

async function faultless(row: string, scale: string): Promise<void> {
  const said = await run('--row', row, '--scale', scale, '--seed', '7');
  expect(said).toMatch(new RegExp(`\\| ${row} +\\|[^|]+\\| [1-9]\\d* +\\| [1-9]\\d* +\\| 0 +\\|`));
}
