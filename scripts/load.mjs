// `npm run load` builds the service and measures it (bench/load/main.ts, which gets the arguments).
import { runBundled } from './bundled.mjs';
import { prepare } from './prepare.mjs';

await prepare();
process.exitCode = await runBundled('bench/load/main.ts', 'dist/load/main.mjs', process.argv.slice(2), { alone: true });
