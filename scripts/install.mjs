// Installs the packages of package-lock.json where they are missing or differ.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const MARK = 'node_modules/.sameday-lock-hash';
const TELL_EVERY_MS = 10_000;
const RETRY_AFTER_MS = 3_000;

/** Whether node_modules has what package-lock.json asks for on this platform. */
export function isInstalled(root) {
  const wanted = markOf(root);
  if (readOr(join(root, MARK), '') === wanted) return true;
  if (!npmInstalledAll(root)) return false;
  // Installed by hand. The mark saves the next comparison, unless the folder is read-only.
  writeMark(root, wanted);
  return true;
}

/** Runs `npm ci`, twice if the first attempt fails, with its output on standard error. */
export async function install(root, say, holdFor) {
  say(`Installing packages with npm (${existsSync(join(root, 'node_modules')) ? 'they have changed' : 'first start'})`);
  for (let attempt = 1; ; attempt++) {
    const failure = await runNpm(root, say, holdFor);
    if (failure === undefined) break;
    if (attempt === 2) throw new Error(`npm could not install the packages (${failure}); its own output is above.`);
    say(`npm failed (${failure}), trying once more`);
    await sleep(RETRY_AFTER_MS);
  }
  writeMark(root, markOf(root));
}

/** Packages differ by platform, so a node_modules carried to another machine counts as missing. */
function markOf(root) {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')));
  return `${hash.digest('hex')} ${process.platform} ${process.arch}\n`;
}

function writeMark(root, mark) {
  try {
    writeFileSync(join(root, MARK), mark);
  } catch (error) {
    if (error.code !== 'EACCES' && error.code !== 'EROFS') throw error;
  }
}

/** Compares npm's list of what it installed, which it writes last, with the lock file. */
function npmInstalledAll(root) {
  const installed = JSON.parse(readOr(join(root, 'node_modules/.package-lock.json'), '{}')).packages;
  if (installed === undefined) return false;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const isSame = (path) => installed[path]?.version === wanted[path]?.version;
  // npm leaves out optional packages of other platforms, but one for this platform must be there.
  const mayLack = ({ optional, os, cpu, libc }) =>
    optional === true && !(os?.includes(process.platform) && cpu?.includes(process.arch) && libc === undefined);
  return (
    Object.keys(installed).every(isSame) &&
    Object.entries(wanted).every(
      ([path, entry]) => path === '' || isSame(path) || (installed[path] === undefined && mayLack(entry)),
    )
  );
}

/**
 * Resolves with undefined on success, else with how npm ended. No package runs a script, as none needs to.
 */
function runNpm(root, say, holdFor) {
  // The npm that started this command, for the same version, else the one on the PATH.
  const own = process.env.npm_execpath;
  const args = ['ci', '--include=dev', '--include=optional', '--ignore-scripts', '--no-audit', '--no-fund'];
  const [program, ...before] = own?.endsWith('npm-cli.js') ? [process.execPath, own] : ['npm'];
  const windows = process.platform === 'win32' && program === 'npm';
  return new Promise((resolve) => {
    const child = spawn(program, [...before, ...args], { cwd: root, stdio: ['ignore', 2, 2], shell: windows });
    if (child.pid !== undefined) holdFor(child.pid);
    const started = Date.now();
    const timer = setInterval(
      () => say(`Still installing (${Math.round((Date.now() - started) / 1000)} s)`),
      TELL_EVERY_MS,
    );
    const end = (failure) => {
      clearInterval(timer);
      resolve(failure);
    };
    child.once('error', (error) => end(error.code === 'ENOENT' ? 'there is no npm on the PATH' : error.message));
    child.once('exit', (code, signal) => end(code === 0 ? undefined : `it ended with ${signal ?? code}`));
  });
}

function readOr(path, otherwise) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return otherwise;
    throw error;
  }
}
