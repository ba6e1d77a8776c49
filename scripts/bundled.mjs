import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './prepare.mjs';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Bundles a program of the tests or benchmarks and runs it with these arguments; resolves with its exit code.
 *
 * @param alone whether a Ctrl-C reaches the program alone and not the processes that it started, so that it
 *   can stop them in order; this process waits for it
 */
export async function runBundled(entry, out, args, { alone = false } = {}) {
  const { build } = await import('esbuild');
  // As deep as its source, so that both find the project by the same relative path.
  const outfile = join(ROOT, out);
  await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'warning',
  });
  const child = spawn(process.execPath, ['--enable-source-maps', outfile, ...args], {
    cwd: ROOT,
    stdio: 'inherit',
    detached: alone,
  });
  if (alone) for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
}
