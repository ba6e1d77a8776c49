// `npm run faults`: builds the service and injects faults into it (test/faults/run.ts). Arguments go there.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { prepare, ROOT } from './prepare.mjs';

await prepare();
const { build } = await import('esbuild');
// As deep below the project as its source, so that both find the project by the same relative path.
const outfile = join(ROOT, 'dist/faults/run.mjs');
await build({
  absWorkingDir: ROOT,
  entryPoints: ['test/faults/run.ts'],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  logLevel: 'warning',
});
const args = ['--enable-source-maps', outfile, ...process.argv.slice(2)];
const child = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
child.once('exit', (code) => {
  process.exitCode = code ?? 1;
});
