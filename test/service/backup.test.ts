import { chmodSync, cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
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

test('the cluster is made on the disk where nothing names another folder: /tmp may be in memory', async () => {
  const programs = mkdtempSync(join(tmpdir(), 'sameday-programs-'));
  onTestFinished(() => rmSync(programs, { recursive: true }));
  onTestFinished(() => void vi.unstubAllEnvs());
  // Where root runs the test, another user runs initdb.
  chmodSync(programs, 0o755);
  const says = 'case $0 in *initdb) echo $* >&2; exit 1; esac; echo "Dumped from database version: 17 (PostgreSQL) 17"';
  for (const name of ['pg_restore', 'postgres', 'initdb']) {
    writeFileSync(join(programs, name), `#!/bin/sh\n${says}\n`, { mode: 0o755 });
  }
  for (const [named, folder] of [
    ['', '/var/tmp'],
    [programs, programs],
  ] as const) {
    for (const name of ['TMPDIR', 'TMP', 'TEMP']) vi.stubEnv(name, named);
    const { stderr } = await checkBackup(import.meta.filename, '--programs', programs);
    expect(stderr).toContain(`initdb failed: -D ${folder}/sameday-backup-`);
  }
});
