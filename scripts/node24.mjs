// `npm run test:node24`: runs `npm test` on the Dockerfile's Node and Debian, in a root made with debootstrap.
// Arguments go to vitest. `node scripts/node24.mjs smoke` only starts the service there and sees one order through.
// The root is kept in SAMEDAY_NODE24_ROOT, by default below /var/cache; remove that folder to have it made anew.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { enter, makeRoot, stopAll, whyNoRoot } from './debian-root.mjs';
import { withLock } from './lock.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** Where the checkout is inside. */
const CHECKOUT = '/sameday';
/** Built anew inside, or private to this machine. */
const NOT_COPIED = new Set(['node_modules', 'dist', 'coverage', '.git', '.data', '.env']);
/** What a run leaves inside, beside the checkout. */
const LEFTOVERS = ['tmp', 'data', 'var/lib/sameday'];
/** Starts the service as `npm start` does, and sees an order through whose names are not ASCII. */
const ONE_ORDER = 'test/service/names.test.ts';
/** The user of the official images. */
const ADD_USER = 'id node > /dev/null 2>&1 || useradd --create-home node';
/** Longest wait for another command's run, which may be one of the whole suite. */
const WAIT_MS = 2 * 60 * 60_000;
/** EX_UNAVAILABLE of sysexits.h: nothing was tried. */
const UNAVAILABLE = 69;

const folder = process.env.SAMEDAY_NODE24_ROOT || join(process.env.XDG_CACHE_HOME || '/var/cache', 'sameday-node24');
const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
const [, node, suite] = /^FROM node:(\d+)-([a-z]+)-slim/m.exec(dockerfile) ?? [];
const say = (line) => process.stderr.write(`${line}\n`);

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
]) {
  process.on(signal, () => {
    process.exitCode = code;
    stopAll();
  });
}

if (node === undefined) throw new Error('The first FROM of the Dockerfile names no Node and Debian');
const why = whyNoRoot();
if (why === undefined) {
  const work = process.argv[2] === 'smoke' ? smoke : test;
  const onWait = () => say('Another command uses the root, waiting for it');
  await withLock(folder, WAIT_MS, onWait, () => inRoot(work));
} else {
  say(`Not tried on Node ${node} and Debian ${suite}: ${why}.`);
  process.exitCode = UNAVAILABLE;
}

async function inRoot(work) {
  try {
    const root = await makeRoot(folder, { node, suite }, say);
    empty(root);
    copyCheckout(root);
    const code = await work(root).finally(() => empty(root));
    process.exitCode ??= typeof code === 'number' ? code : 1;
  } catch (error) {
    if (process.exitCode === undefined) say(error.message);
    process.exitCode ??= 1;
  }
}

function smoke(root) {
  return enter(root, CHECKOUT, ['sh', '-ec', `npm run -s build && node_modules/.bin/vitest run ${ONE_ORDER}`]);
}

async function test(root) {
  const installed = await enter(root, CHECKOUT, ['bash', '.ci/packages']);
  if (installed !== 0) return installed;
  const prepared = await enter(root, CHECKOUT, ['sh', '-ec', `${ADD_USER}\n${stepsAsRoot().join('\n')}`]);
  if (prepared !== 0) return prepared;
  return enter(root, CHECKOUT, ['npm', 'test', '--', ...process.argv.slice(2)]);
}

/** The steps of the Dockerfile that test/docker leaves out, because they change the system. */
function stepsAsRoot() {
  return [...dockerfile.matchAll(/^RUN (install --directory .*)$/gm)].map(([, step]) => step);
}

/** The working tree as it is, committed or not. Its packages stay from one run to the next. */
function copyCheckout(root) {
  const filter = (path) => !NOT_COPIED.has(relative(ROOT, path));
  cpSync(ROOT, join(root, CHECKOUT), { recursive: true, verbatimSymlinks: true, filter });
}

function empty(root) {
  const checkout = join(root, CHECKOUT);
  mkdirSync(checkout, { recursive: true });
  for (const name of readdirSync(checkout)) {
    if (name !== 'node_modules') rmSync(join(checkout, name), { recursive: true });
  }
  for (const path of LEFTOVERS.map((name) => join(root, name)).filter(existsSync)) {
    for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true, force: true });
  }
}
