import { afterEach, describe, expect, it } from 'vitest';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { boundStatements, withDeadline } from '../../src/postgres/deadline.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { openLink } from '../harness/link.ts';
import { STEP_MS } from '../harness/patience.ts';
import { fate, untilAt } from './statements.ts';

const database = await useFreshDatabase({ migrated: false });
await database.sql`create table marks (n int)`;
const open: Sql[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((sql) => sql.end({ timeout: 1 })));
});

function pool(options: Partial<Parameters<typeof connect>[0]>): Sql {
  const sql = connect({ url: database.url, applicationName: 'deadline test', ...options });
  open.push(sql);
  return sql;
}

describe('a bounded statement', () => {
  it('is ended by the server first, so its outcome is known', async () => {
    const sql = pool({ statementTimeoutMs: 100, deadlineMs: STEP_MS });
    await expect(sql`select pg_sleep(10)`).rejects.toMatchObject({ code: '57014' });
  });

  it('is not told how the connection before was ended', async () => {
    const sql = pool({ max: 1 });
    const asleep = fate(sql`select pg_sleep(60)`);
    await database.sql`select pg_terminate_backend(${await untilAt(database, 'select pg_sleep(60)')})`;
    expect(await asleep).toBe('unknown');
    expect(await fate(sql`select 1`)).toBe('done');
  });

  it('is unknown if its deadline passes after it was sent', async () => {
    const sql = pool({ max: 1 });
    await sql`select 1`;
    await expect(withDeadline(sql`select pg_sleep(10), ${1}::int as n`, 100)).rejects.toMatchObject({
      code: 'DEADLINE_SENT',
      message: 'A database statement was given up: DEADLINE_SENT select pg_sleep(10), ?::int as n',
    });
  });

  it('never runs if its deadline passes before it was sent, and the pool goes on', async () => {
    const sql = pool({ max: 1 });
    // A statement with parameters is described first, and nothing is pipelined behind it.
    const busy = fate(sql`select pg_sleep(${30})`);
    const waiting = withDeadline(sql`insert into marks values (1)`, 50);
    await expect(waiting).rejects.toMatchObject({ code: 'DEADLINE_UNSENT' });
    await database.sql`select pg_cancel_backend(${await untilAt(database, 'select pg_sleep($1)')})`;
    await busy;
    expect(await sql`select count(*)::int as n from marks`).toMatchObject([{ n: 0 }]);
  });

  it('never runs if its deadline passes while its connection is being opened', async () => {
    const sql = pool({ max: 1 });
    await expect(withDeadline(sql`insert into marks values (2)`, 0)).rejects.toMatchObject({ code: 'DEADLINE_UNSENT' });
    expect(await sql`select count(*)::int as n from marks`).toMatchObject([{ n: 0 }]);
  });

  it('does not bound its fragments', async () => {
    const sql = pool({ max: 1 });
    expect(await sql`select ${sql`1 + ${1}`}::int as n`).toMatchObject([{ n: 2 }]);
  });

  it('is refused unsent if too many wait', async () => {
    const inner = pool({ deadlineMs: 0 });
    const sql = boundStatements(inner, { deadlineMs: STEP_MS, maxPending: 2 });
    const waiting = [sql`select 1`.execute(), sql`select 2`.execute()];
    await expect(sql`insert into marks values (3)`).rejects.toMatchObject({ code: 'TOO_MANY_PENDING' });
    await Promise.all(waiting);
    expect(await sql`select count(*)::int as n from marks`).toMatchObject([{ n: 0 }]);
  });

  it('has no alternative: transactions and reserved connections are refused', async () => {
    const sql = pool({});
    await expect(sql.begin(async () => undefined)).rejects.toThrow(/not safe/);
    await expect(sql.reserve()).rejects.toThrow(/not safe/);
  });
});

describe('a lost link', () => {
  it('that swallows everything is given up, its connection destroyed and the next one used', async () => {
    const link = await openLink(database.url);
    const sql = pool({ url: link.url, max: 1, statementTimeoutMs: 200, deadlineMs: STEP_MS });
    await sql`select 1`;
    link.swallows(true);
    expect(await fate(withDeadline(sql`select 2`, 500))).toBe('unknown');
    await expect.poll(() => link.open()).toBe(0);
    link.swallows(false);
    expect(await fate(sql`select 3`)).toBe('done');
    await sql.end({ timeout: 1 });
    await link.close();
  });

  it('that is cut with a statement on it leaves the outcome unknown, and the pool recovers', async () => {
    const link = await openLink(database.url);
    const sql = pool({ url: link.url, max: 1 });
    await sql`select 1`;
    const waiting = fate(sql`select pg_sleep(3)`);
    await untilAt(database, 'select pg_sleep(3)');
    link.cut();
    expect(await waiting).toBe('unknown');
    expect(await fate(sql`select 3`)).toBe('done');
    await sql.end({ timeout: 1 });
    await link.close();
  });

  it('that was never there is unavailable', async () => {
    const link = await openLink(database.url);
    await link.close();
    expect(await fate(pool({ url: link.url })`select 1`)).toBe('unavailable');
  });
});
