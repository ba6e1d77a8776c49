import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RUN_MS, STEP_MS } from '../harness/patience.ts';

const ROOT = join(import.meta.dirname, '../..');

// It ends with 1 where the matcher's answer is not the one that looking at every driver gives.
test(
  'a small run beside the trees finds the drivers that a scan finds',
  async () => {
    const args = ['--drivers', '1000', '--queries', '300', '--no-servers', '--no-results'];
    const output = await new Promise<string>((resolve, reject) => {
      const command = [join(ROOT, 'scripts/bench.mjs'), 'matcher', ...args];
      execFile(process.execPath, command, { cwd: ROOT, timeout: RUN_MS }, (error, stdout, stderr) => {
        if (error) reject(new Error(`${stdout}\n${stderr}`));
        else resolve(stdout);
      });
    });
    for (const world of ['uniform', 'cities', 'hot_spot']) expect(output).toContain(`## ${world}, 1,000 drivers`);
    expect(output).toMatch(/nearest +\| rbush-knn/);
    expect(output).not.toContain('FAILED');
  },
  RUN_MS + STEP_MS,
);
