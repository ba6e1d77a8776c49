import { chmodSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { runNode } from '../harness/child.ts';
import { removeFolder } from '../harness/folders.ts';
import { type LiveDatabase, PROGRAMS, startLiveDatabase } from '../harness/live-database.ts';
import { jpeg } from '../harness/photo.ts';
import { newDataDir } from '../harness/service.ts';
import { type ServiceHere, startServiceHere } from '../harness/service-here.ts';
import { checkBackup } from './backups.ts';
import { addFreeDriver, addStore, northOf, place, type Store, storedPhotos, untilOrder } from './clients.ts';

const data = newDataDir();
let live: LiveDatabase;
let service: ServiceHere;
let store: Store | undefined;
let delivered: string;
let waiting: string;

/** What a check has left behind. */
const leftOvers = () => readdirSync(live.folder).filter((name) => name.startsWith('sameday-backup-'));

describe.skipIf(PROGRAMS === undefined)('the check of a dump', () => {
  beforeAll(async () => {
    live = await startLiveDatabase();
    service = await startServiceHere({ DATABASE_URL: live.url, DATA_DIR: data.dataDir });
  });
  // Within a test, because it waits for what becomes true.
  beforeEach(async () => {
    if (store !== undefined) return;
    store = await addStore(live.sql);
    const driver = await addFreeDriver(service, live.sql, northOf(store.point, 300));
    delivered = (await place(service, store)).body.order.id;
    await driver.pickUp(delivered);
    expect((await driver.deliver(delivered, await jpeg())).status).toBe(200);
    await driver.duty(false);
    waiting = (await place(service, store)).body.order.id;
    await untilOrder(service, store, delivered, { payment_status: 'paid' });
  });
  afterAll(async () => {
    await service?.stop();
    await live?.stop();
    data.remove();
  });

  test('finds nothing wrong with that of a service at work, and leaves nothing behind', async () => {
    const dump = join(live.folder, 'whole.dump');
    await live.run('pg_dump', '--format=custom', `--file=${dump}`);
    const { code, of } = await checkBackup(dump, '--data-dir', data.dataDir, '--temporary', live.folder);
    expect(of('orders')).toEqual([expect.objectContaining({ status: 'ok' })]);
    expect(of('start')).toEqual([
      {
        check: 'start',
        status: 'ok',
        says: expect.stringMatching(/^\d+ drivers and 1 waiting orders, read in \d+ s$/),
      },
    ]);
    expect(of('photos')).toEqual([{ check: 'photos', status: 'ok', says: 'all 1 are there' }]);
    expect(of('secrets')).toEqual([
      expect.objectContaining({ status: 'ok', says: expect.stringMatching(/the keys of pushes$/) }),
    ]);
    const [newest] = await live.sql`select created_at as at from orders where id = ${waiting}`;
    expect(of('recovery point')[0]?.says).toContain(`the newest of 2 orders is of ${newest?.at.toISOString()}`);
    expect(code).toBe(0);
    expect(leftOvers()).toEqual([]);
  });

  test('names the orders that have lost a photo, their driver or their charge', async () => {
    const photos = join(live.folder, 'photos');
    cpSync(join(data.dataDir, 'photos'), photos, { recursive: true });
    for (const name of storedPhotos(data.dataDir)) rmSync(join(photos, name.slice(0, 2), name));
    const dump = join(live.folder, 'broken');
    await live.run(
      'pg_dump',
      '--format=directory',
      `--file=${dump}`,
      '--exclude-table-data=payments',
      '--exclude-table-data=drivers',
    );
    const { code, of, stderr } = await checkBackup(dump, '--photos', photos);
    expect(of('orders').map(({ says }) => says)).toEqual([
      `1 orders have a driver who is not there (${delivered})`,
      `1 orders are paid without a charge on record (${delivered})`,
    ]);
    expect(of('photos')[0]?.says).toBe(`1 of 1 are missing or not whole, of the orders ${delivered}`);
    expect(stderr).toContain('3 findings.');
    expect(code).toBe(1);
  });

  test.each([
    ['nothing there', () => ['/nowhere'], 'There is no /nowhere.'],
    ['a file that is no dump', () => [import.meta.filename], 'does not appear to be a valid archive'],
    [
      'a log beside a dump',
      () => [import.meta.filename, '--wal', live.folder],
      '--wal and --until are for base backups',
    ],
  ])('says why nothing can be said: %s', async (_, args, why) => {
    const { code, stderr } = await checkBackup(...args());
    expect(stderr).toContain(why);
    expect(code).toBe(2);
  });
});

/** Programs of Postgres that only say their version, and an `initdb` and a server that do this. */
function fakePrograms(initdb: string, postgres = ':'): string {
  const programs = mkdtempSync(join(tmpdir(), 'sameday-programs-'));
  onTestFinished(() => removeFolder(programs));
  // Where root runs the test, another user runs initdb.
  chmodSync(programs, 0o755);
  const says = `case $0$1 in *initdb-D) ${initdb};; *postgres-D) ${postgres}; esac; echo "Dumped from database version: 17 (PostgreSQL) 17"`;
  for (const name of ['pg_restore', 'postgres', 'initdb']) {
    writeFileSync(join(programs, name), `#!/bin/sh\n${says}\n`, { mode: 0o755 });
  }
  return programs;
}

test('the cluster is made on the disk where nothing names another folder: /tmp may be in memory', async () => {
  const programs = fakePrograms('echo $* >&2; exit 1');
  onTestFinished(() => void vi.unstubAllEnvs());
  for (const [named, folder] of [
    ['', '/var/tmp'],
    [programs, programs],
  ] as const) {
    for (const name of ['TMPDIR', 'TMP', 'TEMP']) vi.stubEnv(name, named);
    const { stderr } = await checkBackup(import.meta.filename, '--programs', programs);
    expect(stderr).toContain(`initdb failed: -D ${folder}/sameday-backup-`);
  }
});

describe.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s leaves no copy of customers’ data', (signal) => {
  const write = (files: number): string => `n=0; while [ $n -lt ${files} ] && : > $n; do n=$((n+1)); done`;

  /** Interrupts a check with these programs, once there are so many files of its cluster. */
  async function interrupt(initdb: string, postgres: string, isTime: (files: number) => boolean): Promise<void> {
    const programs = fakePrograms(`mkdir $2; ${initdb}`, `cd $2; echo $$ > postmaster.pid; ${postgres}`);
    const args = ['backup', 'check', import.meta.filename, '--programs', programs, '--temporary', programs];
    const child = runNode(join(import.meta.dirname, '../../dist/cli.js'), args);
    onTestFinished(() => void child.process.kill('SIGKILL'));
    const folder = () => readdirSync(programs).find((name) => name.startsWith('sameday-backup-'));
    const files = () => {
      const cluster = join(programs, folder() ?? '', 'cluster');
      return existsSync(cluster) ? readdirSync(cluster).length : 0;
    };
    await expect.poll(() => isTime(files()), { interval: 5 }).toBe(true);
    const before = files();
    child.process.kill(signal);
    // Behind npm a terminal's Ctrl-C arrives twice.
    await expect.poll(() => files() < before || folder() === undefined, { interval: 1 }).toBe(true);
    child.process.kill(signal);
    expect([await child.ended, folder()]).toEqual([2, undefined]);
  }

  test('while the server writes it', async () => {
    await interrupt('exit 0', `${write(50_000)}; sleep 60`, (files) => files > 500);
  });

  test('while it is removed', async () => {
    let most = 0;
    const shrinks = (files: number): boolean => {
      most = Math.max(most, files);
      return files > 0 && files < most;
    };
    await interrupt(`cd $2; ${write(20_000)}; exit 1`, ':', shrinks);
  });
});
