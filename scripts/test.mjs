// `npm test` checks types, lints and runs every test but the slow ones and those of whole services and browsers,
// `npm run test:quick` those that start no server, and `npm run test:all` every test: what `npm test` runs, then those
// of services and browsers, then the slow tests, and properties at full counts.
// `npm run test:all -- --after "N passed, N failed, N skipped"` runs what `npm test`, which ended with that line, left
// out, and counts on from there. Other arguments go to vitest: `npm test -- test/matcher`.
import { spawn } from 'node:child_process';
import { accessSync, chmodSync, constants, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, join, relative } from 'node:path';
import { prepare, ROOT } from './prepare.mjs';

const bin = (name) =>
  name === 'node'
    ? process.execPath
    : join(ROOT, 'node_modules/.bin', process.platform === 'win32' ? `${name}.cmd` : name);
const own = ['--quick', '--all', '--after'];
const quick = process.argv.includes('--quick');
const all = process.argv.includes('--all');
/** The last line of the `npm test` before. */
const after = process.argv.includes('--after') ? process.argv[process.argv.indexOf('--after') + 1] : undefined;
const args = process.argv.slice(2).filter((argument) => !own.includes(argument) && argument !== after);
const CHECKS = [
  types('.'),
  types('test'),
  types('src/web'),
  { name: 'levels', args: ['node', 'scripts/levels.mjs'] },
  { name: 'biome', args: ['biome', 'check', '.'] },
  { name: 'oxlint', args: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'knip', args: ['knip', '--cache'] },
];
/** Files that are named for the time they took. */
const SLOWEST = 10;
/** Where Linux keeps files in memory. */
const MEMORY = '/dev/shm';
/** Free bytes there, and of memory, from which on tests keep their files there: a run was seen to use 0.25 GiB. */
const MEMORY_BYTES = 4 * 1024 ** 3;
/** Lines of a failure that are told again at the end: its words and where it is. */
const FAILURE_LINES = 6;
const REDIS = ['redis-server', 'valkey-server'];
/** As test/harness/chromium.ts finds it. */
const CHROMIUM = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

await prepare();
const redis = process.env.REDIS_URL ? 'REDIS_URL' : onPath(REDIS);
const chromium = onPath(CHROMIUM);
if (!quick) {
  console.log(`Redis: ${redis ?? 'NOT FOUND, its tests will be skipped'}`);
  console.log(`Chromium: ${chromium ?? 'NOT FOUND, the tests of the pages will be skipped'}`);
  console.log(`HAProxy: ${onPath(['haproxy']) ?? 'NOT FOUND, its tests will be skipped'}`);
  console.log(`PgBouncer: ${onPath(['pgbouncer']) ?? 'NOT FOUND, its test will be skipped'}`);
}

// Quick tests wait for nothing: more of them side by side than there are cores would only load modules more often.
if (quick) process.env.VITEST_MAX_WORKERS ??= String(availableParallelism());
const reports = mkdtempSync(join(tmpdir(), 'sameday-report-'));
const memory = inMemory();
const inFolder = memory && { TMPDIR: memory };
const results = [];
if (after === undefined) {
  // Slow tests that are named are wanted. The checks are over long before the other tests, which mostly wait.
  const whole = !quick && args.length === 0;
  const projects = quick ? ['--project', 'quick'] : whole ? ['--project', 'servers'] : [];
  const running = test([...projects, ...args], { ...inFolder, ...(whole && { WHOLE_RUN: '1' }) });
  results.push(...(await Promise.all([...CHECKS.map(check), running])));
}
if (all) {
  // Browsers have no rows of faults beside them. Of named files, neither part may have any.
  const rest = ['--passWithNoTests', ...args];
  results.push(await test(['--project', 'services', ...rest], inFolder));
  results.push(await test(['--project', 'slow', '--project', 'counted', ...rest], { FULL_COUNTS: '1' }));
}
for (const folder of [reports, memory]) if (folder) rmSync(folder, { recursive: true, force: true });
const failed = results.filter(({ code }) => code !== 0);
const testFiles = results.flatMap((result) => result.files ?? []);
const tests = testsOf(testFiles);

if (!quick) tellSlowest(testFiles);
if (!quick) tellCoreSeconds();
if (!quick) tellSkipped(tests);
for (const { name, output } of failed) if (output) console.log(`${output}\nFAILED: ${name}`);
// At the very end, where a log that is cut short still has them.
for (const { name, message } of tests.filter(({ status }) => status === 'failed'))
  console.log(
    `FAILED: ${relative(ROOT, name)}${message ? `: ${message.split('\n', FAILURE_LINES).join('\n  ')}` : ''}`,
  );
if (failed.length > 0) console.log(`FAILED: ${failed.map(({ name }) => name).join(', ')}`);
console.log(`${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`);
process.exitCode = failed[0]?.code ?? 0;

/** The number of tests that ended so, with those of the `npm test` before. */
function count(end) {
  const ends = end === 'skipped' ? ['skipped', 'pending', 'todo', 'disabled'] : [end];
  const before = Number(new RegExp(`(\\d+) ${end}`).exec(after ?? '')?.[1] ?? 0);
  return before + tests.filter(({ status }) => ends.includes(status)).length;
}

/** Runs vitest with these arguments; resolves with its exit code and what it reports of each file. */
async function test(vitestArgs, env = {}) {
  const report = join(reports, `vitest-${results.length}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const code = await run(['vitest', 'run', ...reporters, ...vitestArgs], { env });
  const files = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : [];
  return { name: 'tests', code, files };
}

/** The check of a folder's types. It leaves out the files that are as the last one found them. */
function types(folder) {
  const name = folder === '.' ? 'src' : folder;
  const info = `node_modules/.cache/sameday/types-of-${name.replaceAll('/', '-')}.json`;
  return {
    name: `types of ${name}`,
    args: ['tsc', '-p', folder, '--noEmit', '--incremental', '--tsBuildInfoFile', info],
  };
}

/** Runs a check and says how it ended; what it printed goes with the result. */
async function check({ name, args: command }) {
  const started = performance.now();
  const chunks = [];
  const code = await run(command, { hear: (chunk) => chunks.push(chunk) });
  console.log(`${code === 0 ? 'ok' : 'FAILED'}: ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  return { name, code, output: Buffer.concat(chunks).toString() };
}

/**
 * Runs a tool; resolves with its exit code, or 1 after a signal. It prints through this process, or to the
 * given function.
 */
function run([name, ...toolArgs], { hear, env: more }) {
  // The machine's own NODE_ENV must not reach the tests.
  const env = { ...process.env, NODE_ENV: 'test', ...more };
  return new Promise((resolve) => {
    const stdio = hear ? ['ignore', 'pipe', 'pipe'] : 'inherit';
    const child = spawn(bin(name), toolArgs, { cwd: ROOT, stdio, env, shell: process.platform === 'win32' });
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    child.once('error', (error) => {
      console.error(`${name}: ${error.message}`);
      resolve(1);
    });
    // Not "exit", after which output may still come.
    child.once('close', (code) => resolve(code ?? 1));
  });
}

/**
 * Makes a folder in memory for what tests write, where there is room: databases come and go with hundreds of files,
 * and to make a file where many were just removed took ext4 7 % of the work of the tests of `store/`.
 */
function inMemory() {
  if (!existsSync(MEMORY) || (process.availableMemory?.() ?? 0) < MEMORY_BYTES) return undefined;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize < MEMORY_BYTES) return undefined;
  const folder = mkdtempSync(join(MEMORY, 'sameday-test-'));
  // Root's Postgres runs as another user, who must reach its own folder.
  chmodSync(folder, 0o755);
  return folder;
}

function testsOf(testFiles) {
  return testFiles.flatMap(({ name: file, status: end, message, assertionResults }) => {
    const tests = assertionResults.map(({ fullName, status, failureMessages: [first] }) => {
      return { name: `${file} > ${fullName}`, status, message: first };
    });
    // A file that does not load, or whose hook fails, has failed without a test.
    const isWithout = end === 'failed' && !tests.some(({ status }) => status === 'failed');
    return isWithout ? [...tests, { name: file, status: 'failed', message }] : tests;
  });
}

/** The files that took longest, hooks included; others ran beside them. */
function tellSlowest(testFiles) {
  const timed = testFiles.map(({ name, startTime, endTime }) => ({ name, seconds: (endTime - startTime) / 1_000 }));
  console.log('The slowest files:');
  for (const { name, seconds } of timed.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST)) {
    console.log(`  ${seconds.toFixed(1).padStart(6)} s  ${relative(ROOT, name)}`);
  }
}

/**
 * The time that cores worked for this run, where the system says so: of this process and of every one that it, or
 * one of these, has waited for. Renderers of a browser outlive it, so that theirs is missing.
 */
function tellCoreSeconds() {
  if (process.platform !== 'linux') return;
  // Behind the name, which may hold spaces: utime, stime, cutime and cstime of proc(5), in ticks of 10 ms.
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1).split(' ').slice(11, 15);
  console.log(`Core-seconds: ${(fields.reduce((sum, ticks) => sum + Number(ticks), 0) / 100).toFixed(0)}`);
}

/** Names at the very end what was not tested because a server or a browser is missing. */
function tellSkipped(tests) {
  const skipped = tests.filter(({ status }) => status !== 'passed' && status !== 'failed');
  const missing = [redis ? [] : ['Redis'], chromium ? [] : ['Chromium']].flat();
  if (skipped.length === 0 && missing.length === 0) return;
  const line = '!'.repeat(100);
  console.log(line);
  console.log(missing.length > 0 ? `NOT TESTED, because ${missing.join(' and ')} is missing here:` : 'SKIPPED:');
  for (const { name } of skipped) console.log(`  ${name.replace(`${ROOT}/`, '')}`);
  if (missing.includes('Redis')) console.log(`Set REDIS_URL, or install ${REDIS.join(' or ')}.`);
  if (missing.includes('Chromium')) console.log(`Install ${CHROMIUM.join(' or ')}.`);
  console.log(line);
}

function onPath(names) {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return names
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
