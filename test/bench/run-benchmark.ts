import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RUN_MS } from '../harness/patience.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Runs a benchmark as a person does, without writing results; what it prints. Rejects where it ends with a failure. */
export function runBenchmark(name: string, ...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const command = [join(ROOT, 'scripts/bench.mjs'), name, ...args, '--no-results'];
    execFile(process.execPath, command, { cwd: ROOT, timeout: RUN_MS }, (error, stdout, stderr) => {
      if (error) reject(new Error(`bench:${name} failed:\n${stdout}\n${stderr}`));
      else resolve(stdout);
    });
  });
}
