// `npm run bench:<name>` builds the service and runs bench/<name>.ts, which gets the arguments.
// `npm run bench` runs all of them in turn and exits with 1 where one failed.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runBundled } from './bundled.mjs';
import { prepare, ROOT } from './prepare.mjs';

const [name, ...args] = process.argv.slice(2);
if (name && !/^[a-z-]+$/.test(name)) throw new Error('Name a benchmark: node scripts/bench.mjs matcher');
await prepare();
const names = name
  ? [name]
  : readdirSync(join(ROOT, 'bench'))
      .filter((file) => file.endsWith('.ts'))
      .map((file) => file.slice(0, -3));
for (const one of names) {
  if ((await runBundled(`bench/${one}.ts`, `dist/bench/${one}.mjs`, args)) !== 0) process.exitCode = 1;
}
