// A Debian root: made once with debootstrap, kept, and entered with mounts and processes of its own.
import { spawn, spawnSync } from 'node:child_process';
import {
  accessSync,
  closeSync,
  constants,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Mirrors and registries fail now and then. */
const RETRY_AFTER_MS = 10_000;
/** Lines of output that are shown of a program that failed. */
const LAST_LINES = 30;
/** The major version that the official images of Node 24 have. */
const NPM = 'npm@11';
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Processes and mounts inside end with this process, however it ends. */
const NAMESPACES = ['--pdeathsig', 'KILL', '--', 'unshare', '--mount', '--pid', '--fork', '--kill-child', '--'];
/** The shell stays as process 1, which reaps orphans. */
const ENTER = `
root=$1 npm_cache=$2
shift 2
mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" &&
  mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" && mount --bind "$npm_cache" "$root/root/.npm" || exit 1
chroot "$root" "$@"
exit $?`;

/** Why this machine can't have such a root, as the end of a sentence; undefined where it can. */
export function whyNoRoot() {
  if (process.platform !== 'linux') return 'it needs Linux';
  if (process.geteuid() !== 0) return 'only root may make and enter a Debian root';
  const missing = ['debootstrap', 'setpriv', 'unshare', 'mount', 'chroot'].filter((name) => !isProgram(name));
  if (missing.length > 0) return `${missing.join(' and ')} is not on the PATH`;
  const tried = spawnSync('setpriv', [...NAMESPACES, 'mount', '-t', 'proc', 'proc', '/proc'], { encoding: 'utf8' });
  return tried.status === 0 ? undefined : `this machine lets nobody mount: ${tried.stderr.trim()}`;
}

/**
 * The path of the root, `folder`/debian, with this suite of Debian and this major version of Node. It is made where
 * it is missing, incomplete or of another suite or version.
 */
export async function makeRoot(folder, { suite, node }, say) {
  const root = join(folder, 'debian');
  const mark = join(folder, 'made.json');
  const wanted = JSON.stringify({ suite, node, arch: process.arch });
  if (!existsSync(mark) || readFileSync(mark, 'utf8') !== wanted) {
    rmSync(mark, { force: true });
    say(`Making a root of Debian ${suite} in ${root}`);
    await twice(say, async () => {
      await run('rm', ['-rf', '--one-file-system', root]);
      const args = ['--variant=minbase', '--include=ca-certificates', suite, root, ...mirror()];
      await run('setpriv', [...NAMESPACES, 'debootstrap', ...args]);
    });
    prepareApt(root);
    say(`Installing Node ${node} in it`);
    await twice(say, () => installNode(root, node));
    mkdirSync(join(root, 'root/.npm'), { recursive: true });
    writeFileSync(mark, wanted);
  }
  // As they are now.
  for (const file of ['/etc/resolv.conf', '/etc/hosts']) copyFileSync(file, join(root, file));
  return root;
}

/** The archive that this machine's apt uses; none where apt does not tell, and debootstrap's default is taken. */
function mirror() {
  const args = ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages', 'Label: Debian'];
  const { stdout } = spawnSync('apt-get', args, { encoding: 'utf8' });
  const address = (stdout ?? '').split('\n').find((line) => /^https?:/.test(line));
  return address === undefined ? [] : [address];
}

/** Copies the part of this machine's configuration that reaches the archive. */
function prepareApt(root) {
  const { stdout } = spawnSync('apt-config', ['dump', 'Acquire'], { encoding: 'utf8' });
  const lines = (stdout ?? '').split('\n').filter((line) => /^Acquire::(https?|Retries|ForceIP|Check-)/.test(line));
  lines.push('APT::Keep-Downloaded-Packages "false";');
  writeFileSync(join(root, 'etc/apt/apt.conf.d/90machine'), `${lines.join('\n')}\n`);
  // No package may start a server.
  writeFileSync(join(root, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n', { mode: 0o755 });
}

/** Installs the newest Node of its major version from npm, where the official images have it. */
async function installNode(root, major) {
  const folder = mkdtempSync(join(tmpdir(), 'sameday-node-'));
  const node = `node-linux-${process.arch}`;
  try {
    writeFileSync(join(folder, 'package.json'), '{}');
    const options = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
    await run('npm', ['install', ...options, `${node}@${major}`, NPM], folder);
    const to = join(root, 'usr/local');
    copyFileSync(join(folder, 'node_modules', node, 'bin/node'), join(to, 'bin/node'));
    cpSync(join(folder, 'node_modules/npm'), join(to, 'lib/node_modules/npm'), { recursive: true });
    for (const name of ['npm', 'npx']) {
      rmSync(join(to, 'bin', name), { force: true });
      symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(to, 'bin', name));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs a command inside, in `cwd`, with this machine's npm cache and registry; resolves with its exit code. */
export function enter(root, cwd, command) {
  const npm = npmConfig();
  mkdirSync(npm.cache, { recursive: true });
  const inside = ['env', '-i', '-C', cwd, ...environment(root, npm), ...command];
  return end('setpriv', [...NAMESPACES, 'sh', '-c', ENTER, 'sh', root, npm.cache, ...inside], { stdio: 'inherit' });
}

/** This machine's variables for the network and for how output looks, and its certificates. */
function environment(root, npm) {
  const passed = /^((https?|no)_proxy|ci|term|no_color|force_color)$/i;
  const variables = Object.fromEntries(Object.entries(process.env).filter(([name]) => passed.test(name)));
  const certificates = process.env.NODE_EXTRA_CA_CERTS ?? npm.cafile;
  if (certificates !== undefined && existsSync(certificates)) {
    variables.NODE_EXTRA_CA_CERTS = '/etc/ssl/machine.pem';
    copyFileSync(certificates, join(root, variables.NODE_EXTRA_CA_CERTS));
  }
  if (npm.registry !== undefined) variables.npm_config_registry = npm.registry;
  return Object.entries({ ...variables, PATH: SYSTEM_PATH, HOME: '/root' }).map((pair) => pair.join('='));
}

function npmConfig() {
  const { stdout } = spawnSync('npm', ['config', 'get', 'cache', 'registry', 'cafile'], { encoding: 'utf8' });
  const pairs = [...stdout.matchAll(/^(\w+)=(.+)$/gm)].map(([, name, value]) => [name, value.trim()]);
  return Object.fromEntries(pairs.filter(([, value]) => value !== 'null' && value !== 'undefined'));
}

const running = new Set();
let stopped = false;

/** Kills what makes the root or runs inside; nothing is started after it. */
export function stopAll() {
  stopped = true;
  for (const child of running) child.kill('SIGKILL');
}

/** Rejects with the end of the program's output where it fails. */
async function run(program, args, cwd = '/') {
  const folder = mkdtempSync(join(tmpdir(), 'sameday-output-'));
  const file = join(folder, 'output');
  const log = openSync(file, 'w');
  try {
    const code = await end(program, args, { cwd, stdio: ['ignore', log, log] });
    if (code === 0) return;
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LAST_LINES);
    throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${lines.join('\n')}`);
  } finally {
    closeSync(log);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function end(program, args, options) {
  if (stopped) throw new Error('Stopped');
  const child = spawn(program, args, options);
  running.add(child);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal));
  }).finally(() => running.delete(child));
}

async function twice(say, work) {
  try {
    await work();
  } catch (error) {
    if (stopped) throw error;
    say(`${error.message}\nTrying once more in ${RETRY_AFTER_MS / 1_000} s`);
    await sleep(RETRY_AFTER_MS);
    await work();
  }
}

function isProgram(name) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
