import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProgram } from '../../src/commands/program.ts';
import { newId } from '../../src/domain/ids.ts';
import { runCli, runCommand } from '../harness/command-line.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { addOrder, addStoreRow } from '../harness/orders.ts';

let database: FreshDatabase;
let env: Record<string, string>;
const folder = mkdtempSync(join(tmpdir(), 'sameday-program-'));
beforeAll(async () => {
  database = await freshDatabase();
  env = { DATABASE_URL: database.url, DATA_DIR: folder, SANDBOX: '1' };
});
afterAll(async () => {
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

const said = (...args: string[]) => runCommand(env, ...args);
const errorOf = async (...args: string[]) => (await said(...args)).stderr.split('\n')[0];

describe('a mistyped word', () => {
  test.each([
    ['order shwo', 'show'],
    ['retailer cretae', 'create'],
    ['driver lst', 'list'],
    ['order list --serach x', '--search'],
  ])('%s gets the word that is meant', async (line, meant) => {
    expect((await said(...line.split(' '))).stderr).toContain(`(Did you mean ${meant}?)`);
    const json = JSON.parse((await said(...line.split(' '), '--json')).stderr) as { error: string };
    expect(json.error).toContain(`(Did you mean ${meant}?)`);
  });

  test.each(['order refund', 'driver activate', 'retailer vanish'])(
    '%s, which is none, gets no guess',
    async (line) => {
      const { code, stderr } = await said(...line.split(' '));
      expect([code, stderr.includes('Did you mean')]).toEqual([2, false]);
    },
  );
});

describe('the beginning of an id', () => {
  test('stands for the id where it is the only one, in arguments and in options', async () => {
    const store = await addStoreRow(database.sql);
    const { orderId } = await addOrder(database.sql, store);
    const short = orderId.slice(0, 18);
    expect(await runCli(env, 'order', 'show', short)).toMatchObject({ order: { id: orderId } });
    expect(await runCli(env, 'order', 'cancel', short, '--yes')).toEqual({ order_id: orderId, status: 'cancelled' });
    expect(await runCli<unknown[]>(env, 'webhook', 'list', '--order', short)).toEqual([]);
    const capitals = orderId.toUpperCase();
    expect(await runCli(env, 'order', 'show', capitals)).toMatchObject({ order: { id: orderId } });
    expect(await runCli(env, 'order', 'show', capitals.slice(0, 18))).toMatchObject({ order: { id: orderId } });
    expect(await runCli(env, 'order', 'list', '--search', capitals)).toMatchObject([{ order_id: orderId }]);
    const named = await runCli<object[]>(env, 'order', 'list', '--store', store.retailerId.slice(0, 18));
    expect(named).toMatchObject([{ order_id: orderId }]);
  });

  test('is refused where several ids, or none, begin so', async () => {
    const [one, other] = ['01a2037f-5327-7fa7-8921-750dd4adb40f', '01a2037f-5327-7fa7-8921-750dd4adb410'];
    await database.sql`
      insert into drivers (id, name, phone, token_hash, tiers)
      select id, 'Ana', '+14155550100', id::text, '{standard}' from unnest(${[one, other]}::uuid[]) id`;
    expect(await errorOf('driver', 'show', '01a2037f-5327')).toBe(
      `More than one id begins with 01a2037f-5327, such as ${one} and ${other}: give more of it.`,
    );
    expect(await runCli(env, 'driver', 'show', one.slice(0, 35))).toMatchObject({ driver_id: one });
    expect(await errorOf('driver', 'show', 'ffff')).toBe('There is none whose id begins with ffff.');
    for (const long of [`${one.replaceAll('-', '')}0`, 'f'.repeat(35)])
      expect(await errorOf('driver', 'show', long)).toBe(`That is not an id: ${long}`);
    expect(await errorOf('driver', 'show', 'FF')).toBe('FF is no whole id: give at least 4 characters of it.');
  });
});

test('a list shows the columns that were chosen, in that order, and names them all where one is wrong', async () => {
  await addStoreRow(database.sql);
  const rows = await runCli<object[]>(env, 'retailer', 'list', '--columns', 'status, name', '--limit', '1');
  expect(rows).toEqual({ retailers: [{ status: 'active', name: expect.any(String) }], applications: [] });
  expect((await said('retailer', 'list', '--columns', 'name')).stdout).not.toContain('has_card');
  expect(await errorOf('retailer', 'list', '--columns', 'name,price')).toMatch(/^--columns takes some of retailer_id,/);
});

test('the name of an organization can be corrected', async () => {
  const { organization_id: id = '' } = await runCli(env, 'organization', 'add', 'Corner Markts');
  const corrected = { organization_id: id, name: 'Corner Markets' };
  expect(await runCli(env, 'organization', 'set', id.slice(0, 18), '--name', 'Corner Markets')).toEqual(corrected);
  expect(await runCli(env, 'organization', 'show', id)).toMatchObject(corrected);
  expect(await errorOf('organization', 'set', id.replace(/.$/, 'x'), '--name', 'X')).toMatch(/^That is not an id/);
});

test.each(['webhook endpoints', 'webhook list --retailer'])('%s refuses an id that is no store', async (line) => {
  expect(await errorOf(...line.split(' '), newId())).toBe('There is no such store.');
  const { retailerId } = await addStoreRow(database.sql);
  expect(await runCli<unknown[]>(env, ...line.split(' '), retailerId)).toEqual([]);
});

test.each(['2026-11-23T22:00:00', 'yesterday'])(
  'nothing is said of a backup until %s, which is no moment',
  async (time) => {
    expect((await said('backup', 'check', folder, '--until', time)).code).toBe(2);
  },
);

describe('a command that is final or costs money', () => {
  test('says so and does nothing without --yes', async () => {
    const id = newId();
    for (const line of [
      `order cancel ${id}`,
      `order return ${id}`,
      `order charge ${id}`,
      `payout pay ${id}`,
      `payout void ${id} --note x`,
      `retailer reject ${id} --reason x`,
      `organization remove-store ${id} ${id}`,
    ]) {
      expect(await errorOf(...line.split(' '))).toMatch(/^(This|What) .* Add --yes to do it\.$/);
      expect(await errorOf(...line.split(' '), '--yes')).toMatch(/^There is no such /);
    }
    const { retailerId } = await addStoreRow(database.sql);
    expect(await errorOf('retailer', 'charge-failed', retailerId)).toMatch(/^This charges .* Add --yes to do it\.$/);
  });

  test('asks before it ends the secret of a webhook or of a tracking app, and not before there is one', async () => {
    const { retailerId } = await addStoreRow(database.sql);
    const url = ['retailer', 'set-webhook', retailerId, '--url', 'http://127.0.0.1:9/told'];
    const { webhook_secret: secret } = await runCli(env, ...url);
    expect(await errorOf(...url)).toMatch(/^This replaces .* Add --yes to do it\.$/);
    expect((await runCli(env, ...url, '--yes')).webhook_secret).not.toBe(secret);

    const made = await runCli(env, 'driver', 'create', '--name', 'Ana', '--phone', '+14155550109');
    const link = ['driver', 'traccar-link', made.driver_id ?? '', '--revoke'];
    expect(await runCli(env, ...link)).toMatchObject({ device_identifier: null });
    await database.sql`update drivers set tracker_hash = 'x' where id = ${made.driver_id ?? ''}`;
    expect(await errorOf(...link)).toMatch(/^This ends the link .* Add --yes to do it\.$/);
    expect(await runCli(env, ...link, '--yes')).toMatchObject({ device_identifier: null });
  });
});

test('an exact point is not exchanged for the center of a ZIP code without --yes, and that one is told', async () => {
  const at = (address: string) => ['--address', `${address}, Denver, CO 80202`];
  const exact = ['--lat', '39.7', '--lng', '-105'];
  const { retailer_id: id = '' } = await runCli(env, 'retailer', 'create', '--name', 'A', ...at('1 Main St'), ...exact);
  const move = ['retailer', 'set', id, ...at('2 Main St')];
  expect(await errorOf(...move)).toMatch(/^This puts the center of the ZIP code.* Add --yes to do it\.$/);
  expect(await runCli(env, 'retailer', 'show', id)).toMatchObject({ lat: 39.7, lng: -105 });
  const warning = 'The point is the center of the ZIP code and may be kilometers off: better give --lat and --lng.';
  expect(await errorOf(...move, '--yes')).toBe(warning);
  expect(await said('retailer', 'set', id, ...at('3 Main St'))).toMatchObject({ code: 0, stderr: `${warning}\n` });
});

test('a command whose outcome is unknown says that it may be done, and one that was refused does not', async () => {
  await database.sql`
    create function cut() returns trigger language plpgsql as
    $$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$`;
  await database.sql`create trigger cut before insert on organizations for each row execute function cut()`;
  const perhaps = 'may have been changed: look before you run it again.';
  expect(await errorOf('organization', 'add', 'Corner')).toContain(perhaps);
  await database.sql`drop trigger cut on organizations`;
  await database.sql`alter table organizations add check (name <> 'Corner')`;
  expect(await errorOf('organization', 'add', 'Corner')).toBe('The command failed: PostgresError 23514.');
});

describe('a command that watches', () => {
  async function watched(args: string[], columns?: number) {
    const looks: string[] = [];
    const waits: number[] = [];
    const stdout = { write: (text: string) => void looks.push(text), columns };
    const pause = async (ms: number) => waits.push(ms) < 3;
    const code = await runProgram(
      args,
      { stdout, stderr: { write: (text: string) => void looks.push(text) } },
      env,
      pause,
    );
    return { code, waits, text: looks.join('') };
  }

  test('shows it anew after each wait, on a screen that is cleared', async () => {
    const { code, waits, text } = await watched(['tier', 'list'], 80);
    expect([code, waits, text.split('standard')]).toEqual([0, [], [expect.any(String), expect.any(String)]]);
    const stats = await watched(['stats', '--watch'], 200);
    expect([stats.code, stats.waits]).toEqual([0, [2_000, 2_000, 2_000]]);
    expect(stats.text.split('orders_under_way')).toHaveLength(4);
    expect(stats.text.split('\u001b[2J')).toHaveLength(3);
    const piped = await watched(['driver', 'list', '--watch', '7']);
    expect(piped.waits[0]).toBe(7_000);
    expect(piped.text).not.toContain('\u001b');
  });

  test('refuses a time that is none', async () => {
    expect(await errorOf('stats', '--watch', '0')).toBe('--watch takes a whole number from 1 to 3600.');
  });
});

describe('an import of drivers', () => {
  const file = join(folder, 'drivers.csv');
  const run = async (text: string, ...options: string[]) => {
    writeFileSync(file, text);
    const { code, stdout, stderr } = await said('driver', 'import', file, '--json', ...options);
    return { code, stderr, report: JSON.parse(stdout || '[]') as Record<string, string>[] };
  };

  test('adds each driver once, with a token that is shown once, and names what is wrong with a line', async () => {
    const text = [
      'Name,phone,tiers,vehicle,capacity',
      'Ana Lopez,+14155550101,standard priority,bike,2',
      'Ben,4155550102,,,',
      'Cy,+14155550103,gold,,',
      'Di,+14155550104,,truck,',
      'Ed,+14155550105,,,21',
      'Flo,+14155550106,,,',
      'Ana again,+14155550101,,,',
    ].join('\n');
    const tried = await run(text, '--dry-run');
    expect(tried.report.map(({ status }) => status)).toEqual([
      'would_create',
      'failed',
      'failed',
      'failed',
      'failed',
      'would_create',
      'exists',
    ]);
    const made = await run(text);
    expect([made.code, JSON.parse(made.stderr)]).toEqual([1, { error: '4 of 7 lines failed.' }]);
    expect(made.report.map(({ status, field }) => field ?? status)).toEqual([
      'created',
      'phone',
      'tiers',
      'vehicle',
      'capacity',
      'created',
      'exists',
    ]);
    const [ana] = made.report;
    expect(ana?.driver_token).toMatch(/^sdd_/);
    const shown = await runCli(env, 'driver', 'show', ana?.driver_id ?? '');
    expect(shown).toMatchObject({ name: 'Ana Lopez', vehicle: 'bike', capacity: 2, tiers: ['standard', 'priority'] });
    expect((await run(text)).report.filter(({ status }) => status === 'created')).toEqual([]);
  });

  test('is refused where the first line does not name the columns', async () => {
    const { code, stderr } = await run('name\nAna\n');
    expect([code, stderr]).toEqual([1, expect.stringContaining('name, phone, and tiers, vehicle, capacity where')]);
  });
});
