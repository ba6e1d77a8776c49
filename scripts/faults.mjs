// `npm run faults` builds the service and injects faults into it (test/faults/run.ts, which gets the
// arguments). The commit of `--beside` is built before, by default that of the build before this one.
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { runBundled } from './bundled.mjs';
import { commitBefore, earlierBuild } from './earlier-build.mjs';
import { OF_FAULTS } from './options.mjs';
import { prepare } from './prepare.mjs';

/** The rows that run another build, too. */
const OF_TWO_BUILDS = ['builds-slots', 'two-builds'];

await prepare();
const args = process.argv.slice(2);
const options = optionsOrNot();
if (options) args.push(...besideOf(options));
process.exitCode = await runBundled('test/faults/run.ts', 'dist/faults/run.mjs', args);

/** The options; undefined where one is wrong, of which the program tells. */
function optionsOrNot() {
  try {
    return parseArgs({ options: OF_FAULTS }).values;
  } catch {
    return undefined;
  }
}

/** The last `--beside`, which counts, with the folder of the build. */
function besideOf({ row, beside: named }) {
  if (named !== undefined && existsSync(named)) return [];
  if (named === undefined && row !== undefined && !OF_TWO_BUILDS.includes(row)) return [];
  const commit = named ?? commitBefore();
  const folder = commit && earlierBuild(commit);
  if (folder) return ['--beside', folder];
  if (named !== undefined) throw new Error(`--beside ${named} is neither a folder nor a commit of this clone`);
  console.log('This clone has no commit of a build before this one that may start beside it: name one by --beside.');
  return [];
}
