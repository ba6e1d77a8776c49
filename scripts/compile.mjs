// Builds dist/ from the sources.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SOURCES = ['src', 'migrations', 'scripts', 'tsconfig.json', 'package-lock.json'];
const MARK = 'dist/.build-hash';
const STEPS = [
  ['node_modules/typescript/bin/tsc', '-p', '.'],
  ['scripts/build-zips.mjs'],
  ['scripts/build-validators.mjs'],
  ['scripts/build-service.mjs'],
  ['scripts/build-web.mjs'],
];

/** Whether dist/ was built from the current sources. */
export function isBuilt(root) {
  const mark = join(root, MARK);
  return existsSync(mark) && readFileSync(mark, 'utf8') === hashSources(root);
}

/** Builds everything. The mark is written last, so that a failed build does not count as built. */
export async function build(root, say, holdFor) {
  const started = performance.now();
  // Hashed first, so that a source saved during the build makes it stale.
  const hash = hashSources(root);
  say('Building');
  emptyDist(root);
  for (const [script, ...args] of STEPS) await run(root, script, args, holdFor);
  writeFileSync(join(root, MARK), hash);
  say(`Built in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/** The pages' files, of which build-web.mjs keeps those of the build before. */
const PAGES = 'web';

/** Removes the mark first, then everything but the pages' files and the lock that this process holds (lock.mjs). */
function emptyDist(root) {
  rmSync(join(root, MARK), { force: true });
  const dist = join(root, 'dist');
  mkdirSync(dist, { recursive: true });
  for (const name of readdirSync(dist)) {
    if (name !== PAGES && !name.startsWith('.prepare-lock.'))
      rmSync(join(dist, name), { recursive: true, force: true });
  }
}

function hashSources(root) {
  const hash = createHash('sha256');
  const add = (path) => {
    const bytes = readFileSync(join(root, path));
    hash.update(`${path}\0${bytes.length}\0`).update(bytes);
  };
  for (const source of SOURCES) {
    if (source.includes('.')) add(source);
    else for (const path of filesUnder(root, source)) add(path);
  }
  return `${hash.digest('hex')}\n`;
}

function filesUnder(root, folder) {
  const entries = readdirSync(join(root, folder), { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return filesUnder(root, path);
    // The sources are TypeScript; a .js among them is the output of a build step.
    return entry.isFile() && !(folder.startsWith('src') && entry.name.endsWith('.js')) ? [path] : [];
  });
}

/** Runs one step with its output on standard error. */
function run(root, script, args, holdFor) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(root, script), ...args], { cwd: root, stdio: ['ignore', 2, 2] });
    if (child.pid !== undefined) holdFor(child.pid);
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`The build failed: ${script} ended with ${signal ?? code}; its own output is above.`));
    });
  });
}
