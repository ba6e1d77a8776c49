import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hasHaproxy } from '../harness/haproxy.ts';
import { RUN_MS, STEP_MS } from '../harness/patience.ts';
import { hasRedis } from '../harness/redis.ts';
import { missingForCluster } from './cluster.ts';

const ROOT = join(import.meta.dirname, '../..');
const hasCluster = hasRedis() && missingForCluster().length === 0;

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

/** What happens, the row and its scale, and whether it can run here. */
const RUNS: readonly (readonly [what: string, row: string, scale: string, isHere: boolean])[] = [
  ['identical requests with one key, on two API processes', 'same-key', '0.02', hasRedis()],
  ['an API process that is killed under load', 'kill-api', '0.01', hasRedis()],
  ['a worker that is killed while its charges are under way', 'worker-death-sent', '0.06', hasRedis()],
  ['the process that plans is killed, stands still, and is told to stop', 'planner-killed', '0.1', hasRedis()],
  ['two processes that believe that they may plan', 'planner-two', '0.1', hasRedis()],
  ['callbacks of vendors that meet a process’s end, twice and out of order', 'vendor-callbacks', '0.05', true],
  ['stores that are suspended while they order', 'suspensions', '0.05', true],
  ['made-up keys beside good ones', 'unknown-keys', '0.02', true],
  ['dispatch modes, to and fro', 'dispatch-mode', '0.05', hasRedis()],
  ['bodies that are mutated, against a second reading of the contract', 'mutated-bodies', '0.002', true],
  ['raw requests that are malformed or misleading', 'raw-sockets', '0.005', true],
  ['random sequences of commands, against a model of an order in one process', 'model-in-process', '0.005', hasRedis()],
  ['a primary of Postgres that is killed, with HAProxy in front', 'failover-killed', '0.1', hasCluster],
  ['a Redis that loses its last writes', 'redis-behind', '0.1', hasRedis()],
  ['a Redis that loses everything', 'redis-emptied', '0.1', hasRedis()],
  ['a roll behind HAProxy to a build with one migration more', 'two-builds', '0.17', hasRedis() && hasHaproxy()],
];

// The exit code is 1 where the records of clients and vendors contradict the tables.
for (const [what, row, scale, isHere] of RUNS) {
  test.skipIf(!isHere)(what, () => faultless(row, scale), RUN_MS + STEP_MS);
}

async function faultless(row: string, scale: string): Promise<void> {
  const said = await run('--row', row, '--scale', scale, '--seed', '7');
  expect(said).toMatch(new RegExp(`\\| ${row} +\\|[^|]+\\| [1-9]\\d* +\\| [1-9]\\d* +\\| 0 +\\|`));
}
