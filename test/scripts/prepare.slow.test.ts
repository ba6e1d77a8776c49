import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CHANGES } from '../../scripts/mends.mjs';
import { type Child, runNode } from '../harness/child.ts';

const SCRIPTS = join(import.meta.dirname, '../../scripts');
const OWN = ['prepare', 'install', 'compile', 'lock', 'platform', 'build', 'mends', 'sameday', 'earlier-build'];
const UNMENDED = CHANGES.map(([before]) => before).join('\n');

/** An npm that notes its call and makes the packages the pre-step and this test's build need. */
const NPM = `
  import fs from 'node:fs';
  const put = (path, text) => { fs.mkdirSync(path.replace(/\\/[^/]*$/, ''), { recursive: true }); fs.writeFileSync(path, text); };
  fs.appendFileSync('npm-calls', process.argv.slice(2).join(' ') + '\\n');
  console.log('words of npm');
  const calls = fs.readFileSync('npm-calls', 'utf8').split('\\n').length - 1;
  if (calls <= Number(process.env.NPM_FAILS ?? 0)) process.exit(7);
  if (fs.existsSync('node_modules'))
    for (const name of fs.readdirSync('node_modules')) fs.rmSync('node_modules/' + name, { recursive: true });
  while (fs.existsSync('npm-waits')) await new Promise((done) => setTimeout(done, 10));
  put('node_modules/uWebSockets.js/index.js', 'module.exports = {};');
  put('node_modules/typescript/bin/tsc', "const fs = require('fs'); const text = fs.readFileSync('src/a.ts', 'utf8');"
    + "fs.appendFileSync('tsc-calls', 'x'); if (text.includes('wrong')) { console.log('a.ts is wrong'); process.exit(2); }"
    + "fs.mkdirSync('dist', { recursive: true }); fs.writeFileSync('dist/a.js', text);");
  put('node_modules/postgres/package.json', JSON.stringify({ version: '3.4.9' }));
  put('node_modules/postgres/src/connection.js', fs.readFileSync('connection.js', 'utf8'));
  put('node_modules/.package-lock.json', fs.readFileSync('package-lock.json', 'utf8'));
`;

let root: string;
const children: Child[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sameday-prepare-'));
  for (const name of OWN) cpSync(join(SCRIPTS, `${name}.mjs`), join(root, `scripts/${name}.mjs`));
  for (const name of ['zips', 'validators', 'service', 'web'])
    put(`scripts/build-${name}.mjs`, `console.log('built ${name}');`);
  put(
    'scripts/run.mjs',
    "import { prepare } from './prepare.mjs'; await prepare(JSON.parse(process.argv[2] ?? '{}'));",
  );
  put('npm-cli.js', NPM);
  put('connection.js', UNMENDED);
  put('package.json', '{"type":"module","dependencies":{"uWebSockets.js":"*"}}');
  put('package-lock.json', lockOf({ a: '1.0.0' }));
  put('tsconfig.json', '{}');
  put('src/a.ts', 'export const a = 1;');
  put('migrations/0001_a.sql', 'select 1;');
});
afterEach(async () => {
  for (const child of children) child.process.kill('SIGKILL');
  await Promise.all(children.splice(0).map(({ ended }) => ended));
  rmSync(root, { recursive: true, force: true });
});

function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const lockOf = (versions: Record<string, string>): string =>
  JSON.stringify({
    packages: Object.fromEntries(
      Object.entries(versions).map(([name, version]) => [`node_modules/${name}`, { version }]),
    ),
  });
const npmCalls = (): number => (existsSync(join(root, 'npm-calls')) ? read('npm-calls').trim().split('\n').length : 0);
const builds = (): number => (existsSync(join(root, 'tsc-calls')) ? read('tsc-calls').length : 0);

function start(options: object = {}, env: NodeJS.ProcessEnv = {}): Child {
  const child = runNode(join(root, 'scripts/run.mjs'), [JSON.stringify(options)], {
    npm_execpath: join(root, 'npm-cli.js'),
    ...env,
  });
  children.push(child);
  return child;
}
const prepare = (options?: object, env?: NodeJS.ProcessEnv): Promise<number | null> => start(options, env).ended;

describe('the pre-step', () => {
  it('installs and builds in a fresh checkout, development packages included, and prints nothing on stdout', async () => {
    const child = start({}, { NODE_ENV: 'production' });
    expect(await child.ended).toBe(0);
    expect(child.lines).toEqual([]);
    expect(read('npm-calls')).toMatch(/^ci .*--include=dev/);
    expect(read('dist/a.js')).toBe('export const a = 1;');
  });

  it('removes what an earlier build left, but for the files of pages that are open', async () => {
    put('dist/earlier.js', '');
    put('dist/web/track-EARLIER.js', '');
    await prepare();
    expect(existsSync(join(root, 'dist/earlier.js'))).toBe(false);
    expect(existsSync(join(root, 'dist/web/track-EARLIER.js'))).toBe(true);
  });

  it('does nothing the second time', async () => {
    await prepare();
    expect(await prepare()).toBe(0);
    expect([npmCalls(), builds()]).toEqual([1, 1]);
  });

  it('builds again when the content of a source changes, and not when only its time does', async () => {
    await prepare();
    utimesSync(join(root, 'src/a.ts'), new Date(), new Date(Date.now() + 60_000));
    await prepare();
    expect(builds()).toBe(1);
    put('src/a.ts', 'export const a = 2;');
    await prepare();
    expect(read('dist/a.js')).toBe('export const a = 2;');
    put('migrations/0002_b.sql', 'select 2;');
    await prepare();
    expect([npmCalls(), builds()]).toEqual([1, 3]);
  });

  it('installs again when the lock file changes, and when packages are missing', async () => {
    await prepare();
    put('package-lock.json', lockOf({ a: '1.0.1' }));
    await prepare();
    expect(npmCalls()).toBe(2);
    rmSync(join(root, 'node_modules'), { recursive: true });
    await prepare();
    expect(npmCalls()).toBe(3);
  });

  it('takes packages that a person installed for what they are', async () => {
    await prepare();
    rmSync(join(root, 'node_modules/.sameday-lock-hash'));
    await prepare();
    expect(npmCalls()).toBe(1);
    put('node_modules/.package-lock.json', lockOf({ a: '0.9.0' }));
    rmSync(join(root, 'node_modules/.sameday-lock-hash'));
    await prepare();
    expect(npmCalls()).toBe(2);
  });

  it('mends the Postgres client, also where a person has installed it', async () => {
    const client = 'node_modules/postgres/src/connection.js';
    await prepare();
    expect(CHANGES.filter(([, after]) => !read(client).includes(after ?? ''))).toEqual([]);
    put(client, UNMENDED);
    await prepare();
    expect([read(client) === UNMENDED, npmCalls(), builds()]).toEqual([false, 1, 1]);
    put(client, UNMENDED);
    put('node_modules/postgres/package.json', JSON.stringify({ version: '9.9.9' }));
    const other = start();
    expect(await other.ended).toBe(1);
    expect(other.errors()).toContain('not 9.9.9');
  });

  it('tries npm once more when it fails, and then says so', async () => {
    expect(await prepare({}, { NPM_FAILS: '1' })).toBe(0);
    expect(npmCalls()).toBe(2);
    rmSync(join(root, 'node_modules'), { recursive: true });
    rmSync(join(root, 'npm-calls'));
    const failing = start({}, { NPM_FAILS: '9' });
    expect(await failing.ended).toBe(1);
    expect(failing.errors()).toContain('npm could not install the packages');
    expect(npmCalls()).toBe(2);
  });

  it('does not take what a failed build left for built', async () => {
    await prepare();
    put('src/a.ts', 'wrong');
    expect(await prepare()).toBe(1);
    expect(await prepare()).toBe(1);
    expect(builds()).toBe(3);
    expect(existsSync(join(root, 'dist/a.js'))).toBe(false);
    put('src/a.ts', 'export const a = 1;');
    expect(await prepare()).toBe(0);
  });

  it('leaves nothing of a removed source in dist', async () => {
    await prepare();
    put('dist/old.js', '');
    put('src/a.ts', 'export const a = 3;');
    await prepare();
    expect(readdirSync(join(root, 'dist')).sort()).toEqual(['.build-hash', '.prepare-lock.2', 'a.js']);
  });

  it('lets one of several commands at the same moment do the work, and the others wait for it', async () => {
    put('npm-waits', '');
    const commands = [start(), start(), start(), start()];
    const waiting = () => commands.filter((command) => command.errors().includes('Waiting for another command'));
    await expect.poll(() => waiting()).toHaveLength(3);
    rmSync(join(root, 'npm-waits'));
    expect(await Promise.all(commands.map(({ ended }) => ended))).toEqual([0, 0, 0, 0]);
    expect([npmCalls(), builds()]).toEqual([1, 1]);
  });

  it('goes on after a command that was killed in the middle', async () => {
    put('npm-waits', '');
    const first = start();
    await expect.poll(() => npmCalls()).toBe(1);
    first.process.kill('SIGKILL');
    const second = start();
    // The killed one's npm is still at work.
    await expect.poll(() => second.errors()).toContain('Waiting for another command');
    rmSync(join(root, 'npm-waits'));
    expect(await second.ended).toBe(0);
    expect(read('dist/a.js')).toBe('export const a = 1;');
  });

  it('asked for what is missing only, leaves a stale build alone', async () => {
    await prepare();
    const { mtimeMs } = statSync(join(root, 'dist/a.js'));
    put('src/a.ts', 'export const a = 4;');
    expect(await prepare({ onlyMissing: true })).toBe(0);
    expect(statSync(join(root, 'dist/a.js')).mtimeMs).toBe(mtimeMs);
    rmSync(join(root, 'dist'), { recursive: true });
    await prepare({ onlyMissing: true });
    expect(read('dist/a.js')).toBe('export const a = 4;');
  });

  it('leaves its packages alone where an earlier build is made that has others', async () => {
    put('.gitignore', 'node_modules\ndist\n*-calls\n');
    put(
      'scripts/run-earlier.mjs',
      "import { earlierBuild } from './earlier-build.mjs'; earlierBuild(process.argv[2]);",
    );
    const git = (...args: string[]) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim();
    git('init', '-q');
    git('add', '.');
    git('-c', 'user.name=test', '-c', 'user.email=test@example.com', 'commit', '-qm', 'earlier');
    const commit = git('rev-parse', '--short', 'HEAD');
    const packages = join(root, `dist/base-${commit}/node_modules`);
    const makeEarlier = async () => {
      expect(await prepare()).toBe(0);
      // As a build leaves it that was ended in the middle.
      put(`dist/base-${commit}/dist/main.js`, '');
      const child = runNode(join(root, 'scripts/run-earlier.mjs'), [commit], {
        npm_execpath: join(root, 'npm-cli.js'),
      });
      children.push(child);
      expect(await child.ended).toBe(0);
      expect(child.errors()).toMatch(/^Built in /m);
      return lstatSync(packages).isSymbolicLink();
    };
    expect(await makeEarlier()).toBe(true);
    put('package-lock.json', lockOf({ a: '1.0.1' }));
    expect(await makeEarlier()).toBe(false);
    expect(read('node_modules/.package-lock.json')).toBe(lockOf({ a: '1.0.1' }));
  });

  it('tells the command line from which folder npm was called', async () => {
    await prepare();
    put('dist/cli.js', 'console.log(process.env.SAMEDAY_FOLDER)');
    const child = runNode(join(root, 'scripts/sameday.mjs'), [], {
      INIT_CWD: '/srv/lists',
      npm_lifecycle_event: 'sameday',
    });
    children.push(child);
    expect([await child.ended, child.lines]).toEqual([0, ['/srv/lists']]);
  });
});
