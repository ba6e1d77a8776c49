// `npm run bench:<name>` builds the service and runs bench/<name>.ts, which gets the arguments.
// `npm run bench` runs all of them in turn and exits with 1 where one failed.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runBundled } from './bundled.mjs';
import { exitWith } from './options.mjs';
import { prepare, ROOT } from './prepare.mjs';

const [name, ...args] = process.argv.slice(2);
const names = readdirSync(join(ROOT, 'bench'))
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -3));
if (name && !names.includes(name)) exitWith(`npm run bench, or npm run bench:NAME of ${names.join(', ')}`);
await prepare();
for (const one of name ? [name] : names) {
  if ((await runBundled(`bench/${one}.ts`, `dist/bench/${one}.mjs`, args)) !== 0) process.exitCode = 1;
}
