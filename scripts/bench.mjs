// `npm run bench:<name>`: builds the service and runs bench/<name>.ts against it. Arguments go to the benchmark.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { prepare, ROOT } from './prepare.mjs';

const [name, ...args] = process.argv.slice(2);
if (!name || !/^[a-z-]+$/.test(name)) throw new Error('Say which benchmark: node scripts/bench.mjs tap-to-screen');
await prepare();
const { build } = await import('esbuild');
// As deep below the project as its source, so that both find the project by the same relative path.
const outfile = join(ROOT, `dist/bench/${name}.mjs`);
await build({
  absWorkingDir: ROOT,
  entryPoints: [`bench/${name}.ts`],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  logLevel: 'warning',
});
const child = spawn(process.execPath, ['--enable-source-maps', outfile, ...args], { cwd: ROOT, stdio: 'inherit' });
child.once('exit', (code) => {
  process.exitCode = code ?? 1;
});
