// `npm run faults` builds the service and injects faults into it (test/faults/run.ts, which gets the
// arguments). The commit of `--beside` is built before, by default that of the build before this one.
import { existsSync } from 'node:fs';
import { runBundled } from './bundled.mjs';
import { commitBefore, earlierBuild } from './earlier-build.mjs';
import { prepare } from './prepare.mjs';

/** The rows that run another build, too. */
const OF_TWO_BUILDS = ['builds-slots', 'two-builds'];

await prepare();
const args = process.argv.slice(2);
const row = optionOf('--row');
const named = optionOf('--beside');
if (named !== undefined && !existsSync(named)) {
  const folder = earlierBuild(named);
  if (folder === undefined) throw new Error(`--beside ${named} is neither a folder nor a commit of this clone`);
  args[args.indexOf('--beside') + 1] = folder;
} else if (named === undefined && (row === undefined || OF_TWO_BUILDS.includes(row))) {
  const commit = commitBefore();
  if (commit !== undefined) args.push('--beside', earlierBuild(commit));
  else
    console.log('This clone has no commit of a build before this one that may start beside it: name one by --beside.');
}
process.exitCode = await runBundled('test/faults/run.ts', 'dist/faults/run.mjs', args);

/** What stands behind an option; undefined where it is not there. */
function optionOf(option) {
  return args.includes(option) ? args[args.indexOf(option) + 1] : undefined;
}
