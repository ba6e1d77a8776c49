import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './prepare.mjs';

/** The folder of a commit's build, made where it is missing; undefined where this clone does not have the commit. */
export function earlierBuild(commit) {
  const folder = join(ROOT, 'dist', `base-${commit}`);
  if (existsSync(join(folder, 'dist/main.js'))) return folder;
  const archive = spawnSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 2 ** 30 });
  if (archive.status !== 0) return undefined;
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['-x', '-C', folder], { input: archive.stdout });
  if (!existsSync(join(folder, 'node_modules'))) symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  execFileSync(process.execPath, [join(folder, 'scripts/build.mjs')], { stdio: 'ignore' });
  return folder;
}
