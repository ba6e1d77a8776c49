// `npm run replay` replays days of orders with the matcher (bench/replay/main.ts, which gets the arguments).
import { runBundled } from './bundled.mjs';
import { prepare } from './prepare.mjs';

await prepare();
process.exitCode = await runBundled('bench/replay/main.ts', 'dist/replay/main.mjs', process.argv.slice(2));
