import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './prepare.mjs';

/**
 * Bundles a program of the tests or benchmarks and runs it with these arguments; resolves with its exit code.
 */
export async function runBundled(entry, out, args) {
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
  const child = spawn(process.execPath, ['--enable-source-maps', outfile, ...args], { cwd: ROOT, stdio: 'inherit' });
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
}
