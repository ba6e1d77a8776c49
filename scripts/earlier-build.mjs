import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './prepare.mjs';

/** The folder of a commit's build, made where it is missing; undefined where this clone does not have the commit. */
export function earlierBuild(commit) {
  const folder = join(ROOT, 'dist', `base-${commit}`);
  if (existsSync(join(folder, 'dist/.build-hash'))) return folder;
  const archive = spawnSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 2 ** 30 });
  if (archive.status !== 0) return undefined;
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['-x', '-C', folder], { input: archive.stdout });
  const packages = join(folder, 'node_modules');
  if (hasOurPackages(folder) && !existsSync(packages)) symlinkSync(join(ROOT, 'node_modules'), packages);
  execFileSync(process.execPath, [join(folder, 'scripts/build.mjs')], { stdio: ['ignore', 'ignore', 'inherit'] });
  return folder;
}

/** Whether a folder's build would install and mend what is here. Through a link another one would change it. */
const hasOurPackages = (folder) =>
  ['package-lock.json', 'scripts/mends.mjs'].every((name) => {
    const [theirs, ours] = [folder, ROOT].map((root) => join(root, name));
    return existsSync(theirs) && readFileSync(theirs).equals(readFileSync(ours));
  });

/**
 * The commit of the build before this one: the last but one that changed what is built. Undefined where the clone does
 * not reach back to it, and where the migrations let it start no more.
 */
export function commitBefore() {
  const commit = git('log', '--skip=1', '-1', '--format=%h', '--', 'src', 'migrations');
  if (!commit) return undefined;
  const newest = git('ls-tree', '--name-only', commit, 'migrations/').split('\n').sort().at(-1);
  return Number(/\d{4}/.exec(newest)?.[0]) >= oldestBuild() ? commit : undefined;
}

/** The number of the oldest build that the migrations let start. */
function oldestBuild() {
  const folder = join(ROOT, 'migrations');
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  return Math.max(...files.map((text) => Number(/^-- oldest: (\d{4})$/m.exec(text)?.[1] ?? 0)));
}

/** What git says of this clone; empty where it cannot. */
const git = (...args) => (spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' }).stdout ?? '').trim();
