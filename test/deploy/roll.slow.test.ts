import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { freePort } from '../harness/free-port.ts';
import { openRollScript } from '../harness/roll.ts';

/** A process of the service as the script sees it: a port that answers /readyz. */
type StandIn = { readonly unit: string; readonly port: number; server: Server | null };

let folder: string;
let processes: StandIn[];
let script: Awaited<ReturnType<typeof openRollScript>>;
/** What the script did, in order. */
let done: string[];
/** What a start of a unit does instead of a ready process, by unit and build. */
let broken: Map<string, 'unready' | 'refused' | 'brief'>;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sameday-roll-'));
  for (const build of ['one', 'two']) {
    mkdirSync(join(folder, build, 'dist'), { recursive: true });
    writeFileSync(join(folder, build, 'dist/.build-hash'), '');
  }
  symlinkSync(join(folder, 'one'), join(folder, 'current'));
  done = [];
  broken = new Map();
  processes = [];
  for (const kind of ['api', 'api', 'worker']) {
    const port = await freePort();
    processes.push({ unit: `sameday-${kind}@${port}`, port, server: null });
  }
  for (const each of processes) await start(each);
  script = await openRollScript(async (what, unit) => {
    const one = processes.find((each) => each.unit === unit) as StandIn;
    const name = `${unit.startsWith('sameday-api') ? 'api' : 'worker'} ${processes.indexOf(one) + 1}`;
    const build = basename(realpathSync(join(folder, 'current')));
    done.push(`${what} ${name}${what === 'start' ? ` as ${build}` : ''}`);
    if (what === 'stop') return stop(one);
    const fault = broken.get(`${name} as ${build}`);
    if (fault === 'refused') throw new Error('it does not start');
    await start(one, fault === 'unready' ? 503 : 200);
    if (fault === 'brief') one.server?.once('request', () => void stop(one));
  });
});
afterEach(async () => {
  script.close();
  for (const each of processes) await stop(each);
  rmSync(folder, { recursive: true, force: true });
});

async function start(one: StandIn, status = 200): Promise<void> {
  const server = createServer((_, reply) => reply.writeHead(status, { connection: 'close' }).end());
  one.server = server;
  await new Promise<void>((resolve) => server.listen(one.port, '127.0.0.1', resolve));
}

async function stop(one: StandIn): Promise<void> {
  const { server } = one;
  one.server = null;
  if (server) await new Promise((resolve) => server.close(resolve));
}

/** Rolls to a build; with the check that it names. */
function roll(build: string, settings: Readonly<Record<string, string>> = {}) {
  const [a, b, worker] = processes.map(({ port }) => port);
  const own = { CURRENT: join(folder, 'current'), APIS: `${a} ${b}`, WORKERS: `${worker}`, CHECK: 'true' };
  return script.run(join(folder, build), { ...own, READY_SECONDS: '1', SETTLE_SECONDS: '0', ...settings });
}

const current = () => basename(realpathSync(join(folder, 'current')));

test('rolls one process after the other, the API processes first, and names the way back', async () => {
  const { code, stdout } = await roll('two');
  expect(code).toBe(0);
  expect(done.join(', ')).toBe(
    'stop api 1, start api 1 as two, stop api 2, start api 2 as two, stop worker 3, start worker 3 as two',
  );
  expect(current()).toBe('two');
  expect(stdout).toMatch(/The way back: \S*roll\.sh \S*\/one\n$/);
});

test.each([
  ['unready', 'was not ready within 1 s'],
  ['refused', 'could not be started'],
] as const)('stops where a new process is %s, points the link back, and goes back from there', async (fault, says) => {
  broken.set('api 1 as two', fault);
  const { code, stderr } = await roll('two');
  expect(code).toBe(1);
  expect(stderr).toContain(says);
  expect(stderr).toMatch(/To go back with all of them: \S*roll\.sh \S*\/one\n$/);
  expect([done, current()]).toEqual([['stop api 1', 'start api 1 as two'], 'one']);
  done = [];
  expect(await roll('one')).toMatchObject({ code: 0 });
  expect(done.slice(0, 4)).toEqual(['stop api 1', 'start api 1 as one', 'stop api 2', 'start api 2 as one']);
});

test.each([
  ['SIGINT', 'one'],
  ['SIGHUP', 'one'],
  ['SIGKILL', 'two'],
] as const)('a roll that %s ends leaves the link on build %s, and the way back is the same', async (signal, link) => {
  broken.set('api 1 as two', 'unready');
  const first = roll('two', { READY_SECONDS: '600' });
  await expect.poll(() => done.length).toBe(2);
  script.signal(signal);
  expect([(await first).code, current()]).toEqual([1, link]);
  const { stderr } = await roll('two');
  expect(stderr).toMatch(/To go back with all of them: \S*roll\.sh \S*\/one\n$/);
  expect(current()).toBe('one');
});

test('begins with the process that is not ready', async () => {
  await stop(processes[1] as StandIn);
  expect(await roll('two')).toMatchObject({ code: 0 });
  expect(done[0]).toBe('stop api 2');
});

test('does not stop the last API process that is ready', async () => {
  broken.set('api 1 as two', 'brief');
  const { code, stderr } = await roll('two');
  expect([code, done]).toEqual([1, ['stop api 1', 'start api 1 as two']]);
  expect(stderr).toContain('no other API process is ready while sameday-api@');
});

test('touches nothing where the check of the new build fails, it is not built, or another roll is under way', async () => {
  mkdirSync(join(folder, 'half/dist'), { recursive: true });
  writeFileSync(join(folder, 'half/dist/main.js'), '');
  for (const [build, settings, says] of [
    ['two', { CHECK: 'false' }, 'the check of'],
    ['three', {}, 'there is no folder'],
    ['half', {}, 'build it first'],
    ['two', { APIS: '1' }, 'fewer than two'],
  ] as const) {
    const { code, stderr } = await roll(build, settings);
    expect(code).toBe(1);
    expect(stderr).toContain(says);
  }
  const [held, letGo, check] = ['held', 'let-go', 'check.sh'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(check, `#!/bin/sh\ntouch ${held}\nuntil [ -e ${letGo} ]; do sleep 0.05; done\n`, { mode: 0o755 });
  const first = roll('two', { CHECK: check });
  await expect.poll(() => existsSync(held)).toBe(true);
  expect(await roll('two')).toMatchObject({ code: 1, stderr: expect.stringContaining('another roll is under way') });
  writeFileSync(letGo, '');
  expect((await first).code).toBe(0);
  expect(done.filter((what) => what.startsWith('stop'))).toHaveLength(3);
});
