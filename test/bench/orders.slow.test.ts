import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RUN_MS, STEP_MS } from '../harness/patience.ts';
import { hasRedis } from '../harness/redis.ts';

const ROOT = join(import.meta.dirname, '../..');

/** The whole output of `npm run bench:orders` with these arguments; rejects where it ends with anything but 0. */
function run(...args: string[]): Promise<string> {
  const file = join(ROOT, 'scripts/bench.mjs');
  return new Promise((resolve, reject) => {
    const all = [file, 'orders', '--small', '--no-results', ...args];
    execFile(process.execPath, all, { cwd: ROOT, timeout: RUN_MS }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${stdout}\n${stderr}`));
      else resolve(stdout);
    });
  });
}

// It ends with 1 where an order was not answered with 201, one that was is not in the tables, or a driver has two.
test.skipIf(!hasRedis())(
  'a small burst: every order is answered with 201 and stored, no driver has two, beside both peers',
  async () => {
    const said = await run('--only', 'burst', '--connections', '4');
    expect(said).toMatch(/\| created, matched, durable +\| [1-9][\d,.]* /);
    expect(said).toMatch(/\| parse, validate, reply +\| [1-9][\d,.]* /);
    expect(said).toMatch(/\| bare inserts, one commit in flight +\| [1-9][\d,.]* /);
    expect(said).not.toContain('FAILED');
  },
  RUN_MS + STEP_MS,
);
