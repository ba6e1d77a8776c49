import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RUN_MS, STEP_MS } from '../harness/patience.ts';
import { findPostgis } from '../harness/postgis.ts';
import { findRedisServer } from '../harness/redis.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Its output; rejects where it ends with anything but 0, which it does for a lost order or a driver with two. */
function runBenchmark(name: string, ...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const command = ['scripts/bench.mjs', name, '--small', '--no-results', ...args];
    execFile(process.execPath, command, { cwd: ROOT, timeout: RUN_MS }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stdout}\n${stderr}`));
      else resolve(stdout);
    });
  });
}

test.skipIf(findRedisServer() === undefined || findPostgis() === undefined)(
  'the service and the plain one answer every order with 201, keep it and give no driver two',
  async () => {
    const output = await runBenchmark('peer');
    expect(output).toMatch(/## Burst[\s\S]*## Latency at equal load/);
    expect(output).not.toContain('FAILED');
  },
  RUN_MS + STEP_MS,
);
