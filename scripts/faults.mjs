// `npm run faults` builds the service and injects faults into it (test/faults/run.ts, which gets the
// arguments). The commit of `--beside` is built before.
import { existsSync } from 'node:fs';
import { runBundled } from './bundled.mjs';
import { earlierBuild } from './earlier-build.mjs';
import { prepare } from './prepare.mjs';

await prepare();
const args = process.argv.slice(2);
const at = args.indexOf('--beside') + 1;
if (at > 0 && args[at] !== undefined && !existsSync(args[at])) {
  const folder = earlierBuild(args[at]);
  if (folder === undefined) throw new Error(`--beside ${args[at]} is neither a folder nor a commit of this clone`);
  args[at] = folder;
}
process.exitCode = await runBundled('test/faults/run.ts', 'dist/faults/run.mjs', args);
