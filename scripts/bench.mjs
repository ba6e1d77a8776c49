// `npm run bench:<name>`: builds the service and runs bench/<name>.ts against it. Arguments go to the benchmark.
// `npm run bench`: all of them, one after the other; ends with 1 where one of them failed.
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { prepare, ROOT } from './prepare.mjs';

const [name, ...args] = process.argv.slice(2);
if (name && !/^[a-z-]+$/.test(name)) throw new Error('Say which benchmark: node scripts/bench.mjs tap-to-screen');
await prepare();
const { build } = await import('esbuild');
const names = name
  ? [name]
  : readdirSync(join(ROOT, 'bench'))
      .filter((file) => file.endsWith('.ts'))
      .map((file) => file.slice(0, -3));
for (const one of names) {
  if ((await run(one)) !== 0) process.exitCode = 1;
}

/** The benchmark's exit code. */
async function run(one) {
  // As deep below the project as its source, so that both find the project by the same relative path.
  const outfile = join(ROOT, `dist/bench/${one}.mjs`);
  await build({
    absWorkingDir: ROOT,
    entryPoints: [`bench/${one}.ts`],
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
