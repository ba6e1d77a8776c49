// `npm run faults` builds the service and injects faults into it (test/faults/run.ts, which gets the
// arguments).
import { runBundled } from './bundled.mjs';
import { prepare } from './prepare.mjs';

await prepare();
process.exitCode = await runBundled('test/faults/run.ts', 'dist/faults/run.mjs', process.argv.slice(2));
