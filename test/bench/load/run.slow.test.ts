import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RUN_MS, STEP_MS } from '../../harness/patience.ts';
import { findPostgis } from '../../harness/postgis.ts';
import { findRedisServer } from '../../harness/redis.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** Every file of a run, and every mark of its processes, is below this folder. */
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sameday-load-'));
  // Root's Postgres runs as another user, which must be able to enter.
  chmodSync(folder, 0o755);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function start(args: readonly string[], path = process.env.PATH) {
  const env = { PATH: path, HOME: process.env.HOME, TMPDIR: folder };
  const child = spawn(process.execPath, [join(ROOT, 'scripts/load.mjs'), ...args], { cwd: ROOT, env });
  const said = { out: '', err: '' };
  child.stdout.on('data', (text) => {
    said.out += text;
  });
  child.stderr.on('data', (text) => {
    said.err += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child: child as ChildProcess, said, ended };
}

/** Processes whose arguments or environment name the run's folder, besides the run itself. */
function processesOf(run: ChildProcess): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== run.pid)
    .filter((pid) => ['cmdline', 'environ'].some((file) => read(`/proc/${pid}/${file}`).includes(folder)))
    .map((pid) => `${pid}: ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Nothing of the run is there any more. A process that was told to end may take a moment. */
async function expectNothingLeft(run: ChildProcess): Promise<void> {
  expect(readdirSync(folder)).toEqual([]);
  if (existsSync('/proc/self')) await expect.poll(() => processesOf(run)).toEqual([]);
}

const hasRedis = findRedisServer() !== undefined;

describe('npm run load', { timeout: RUN_MS + STEP_MS }, () => {
  test.skipIf(!hasRedis)('has every figure, loses no order, and leaves nothing behind', async () => {
    const plot = join(tmpdir(), `sameday-load-${process.pid}.svg`);
    const { child, said, ended } = start(['--small', '--json', '--api', '2', '--plot', plot]);
    const code = await ended;
    expect([0, 1], said.err).toContain(code);
    const figures = JSON.parse(said.out);
    // A busy machine refuses some of a flood, which is a fault of the machine's alone.
    const faults = (figures.faults as string[]).filter((fault) => !fault.endsWith('an order was answered with 503'));
    expect(faults).toEqual([]);
    expect([figures.ok, code]).toEqual(figures.faults.length === 0 ? [true, 0] : [false, 1]);
    expect(figures.rates.map(({ connections }: { connections: number }) => connections)).toEqual([1, 8]);
    for (const { created, failed } of [...figures.rates, ...figures.latencies]) {
      expect(created).toBeGreaterThan(0);
      expect(failed).toBe(0);
    }
    expect(Object.keys(figures.costs[0].millis).sort()).toEqual(
      ['API', 'worker', 'Postgres', 'Redis', 'stand-ins', 'load generator'].sort(),
    );
    const [bare, plain] = figures.peers;
    expect(bare.rate.perSecond).toBeGreaterThan(0);
    if (findPostgis() === undefined) expect(plain.leftOut).toContain('PostGIS');
    else expect(plain.rate.perSecond).toBeGreaterThan(0);
    expect(said.err).toMatch(/\[ {1,3}\d+ s\] starting servers/);
    expect(read(plot)).toMatch(/^<svg /);
    rmSync(plot);
    await expectNothingLeft(child);
  });

  test('leaves nothing behind after Ctrl-C', async () => {
    const { child, said, ended } = start(['--small']);
    await expect.poll(() => said.err, { timeout: RUN_MS }).toContain('connection');
    child.kill('SIGINT');
    // Behind npm it arrives twice.
    child.kill('SIGINT');
    expect(await ended, said.err).toBe(130);
    expect(said.err).toContain('Nothing was left behind');
    expect(said.out).toBe('');
    await expectNothingLeft(child);
  });

  test('says in a sentence that several API processes need Redis', async () => {
    const { said, ended } = start(['--api', '2'], '/nowhere');
    expect(await ended).toBe(1);
    expect(said.err).toContain('--api needs a redis-server on the PATH');
  });
});
