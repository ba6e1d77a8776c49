import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { DB_PROBE_MS, startBreaker } from '../../src/postgres/start-breaker.ts';
import { createLogger } from '../../src/telemetry.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { type Link, openLink } from '../harness/link.ts';
import { fate, untilAt } from './statements.ts';

const database = await useFreshDatabase({ migrated: false });
await database.sql`create table marks (n int unique)`;
let link: Link;
let breaker: ReturnType<typeof startBreaker>;
let opened: number;
let sql: Sql;

beforeEach(async () => {
  link = await openLink(database.url);
  breaker = startBreaker(link.url, createLogger('silent'));
  opened = 0;
  breaker.onOpen(() => opened++);
  sql = connect({ url: link.url, applicationName: 'breaker test', max: 1, breaker });
  await sql`select 1`;
});
afterEach(async () => {
  await sql.end({ timeout: 1 });
  await breaker.close();
  await link.close();
});

const isOpen = () => expect.poll(breaker.isOpen, { interval: 10 }).toBe(true);
const isShut = () => expect.poll(breaker.isOpen, { interval: 10 }).toBe(false);

it('refuses statements at once while connections are refused, and none afterwards', async () => {
  await link.close();
  await isOpen();
  const fates = Promise.all(Array.from({ length: 100 }, () => fate(sql`insert into marks values (1)`)));
  // Not one turn of the event loop later, in which a connection could be tried.
  const refused = await Promise.race([fates, nextTurn(['none yet'])]);
  expect(new Set(refused)).toEqual(new Set(['unavailable']));
  await link.reopen();
  await isShut();
  expect(await fate(sql`select 1`)).toBe('done');
  expect(await database.sql`select from marks`).toHaveLength(0);
});

it('gives up waiting statements when the database falls silent: sent ones are unknown, others never run', async () => {
  link.swallows(true);
  const sent = fate(sql`select ${1}::int`);
  const waiting = fate(sql`insert into marks values (2)`);
  await isOpen();
  expect([await sent, await waiting]).toEqual(['unknown', 'unavailable']);
  expect(await fate(sql`insert into marks values (2)`)).toBe('unavailable');
  link.cut();
  link.swallows(false);
  await isShut();
  expect(await fate(sql`select 1`)).toBe('done');
  expect(await database.sql`select from marks`).toHaveLength(0);
});

it('leaves the connections that stayed silent when the database answers again', async () => {
  link.swallows(true);
  const sent = fate(sql`select ${1}::int`);
  await isOpen();
  expect(await sent).toBe('unknown');
  link.swallows(false);
  await isShut();
  expect(await fate(sql`select 1`)).toBe('done');
});

it('closes again if another host of the URL answers instead of a silent one', async () => {
  const both = link.url.replace(/@[^/]+/, (first) => `${first},${new URL(database.url).host}`);
  const other = startBreaker(both, createLogger('silent'));
  link.swallows(true);
  await expect.poll(other.isOpen, { interval: 10 }).toBe(true);
  await expect.poll(other.isOpen, { interval: 10 }).toBe(false);
  await other.close();
});

it('leaves a primary that became a standby, also where the client does not look', async () => {
  // Twice, since a young connection that is lost leads to the next host.
  const both = link.url.replace(/@[^/]+/, (first) => `${first},${first.slice(1)},${new URL(database.url).host}`);
  const keeper = startBreaker(both, createLogger('silent'));
  const pool = connect({ url: both, applicationName: 'demoted test', max: 1, breaker: keeper });
  const asleep = fate(pool`select pg_sleep(30)`);
  const end = () =>
    database.sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name in ('demoted test', 'sameday probe') and datname = current_database()`;
  await untilAt(database, 'select pg_sleep(30)');
  link.demote();
  await end();
  expect(await asleep).toBe('unknown');
  const ask = () => fate(pool`select 1`);
  // The client takes the standby for granted after a connection that it lost so (postgres 3.4.9).
  const leaves = async () => {
    const before = link.asked();
    await ask();
    return (await ask()) === 'done' && link.asked() === before;
  };
  await expect.poll(leaves).toBe(true);
  await pool.end({ timeout: 1 });
  await keeper.close();
});

it('opens all connections anew where one is seen to lead to a standby', async () => {
  const pid = async () => (await sql`select pg_backend_pid() as pid`)[0]?.pid;
  const before = await pid();
  expect(await fate(sql`set transaction_read_only = on; insert into marks values (4)`.simple())).toBe('unavailable');
  await expect.poll(() => pid().catch(() => before)).not.toBe(before);
});

it('stays closed over a slow statement, refused rows and lost connections', async () => {
  const slow = sql`select pg_sleep(${DB_PROBE_MS / 1_000 + 1})`.execute();
  const other = connect({ url: link.url, applicationName: 'breaker test', max: 1, breaker });
  await other`insert into marks values (3)`;
  expect(await fate(other`insert into marks values (3)`)).toBe('refused_row');
  await other`select pg_terminate_backend(pg_backend_pid())`.catch(() => undefined);
  await slow;
  expect(opened).toBe(0);
  await other.end({ timeout: 1 });
});

it('stays closed where this process stands still, and the answer to its probe waits to be read', async () => {
  // A connection that is still being made takes several turns for one answer, more than there are below.
  const probes = () => database.sql`
    select from pg_stat_activity
    where application_name = 'sameday probe' and datname = current_database() and state = 'idle'`;
  await expect.poll(async () => (await probes()).length).toBeGreaterThan(0);
  for (let stall = 0; stall < 4; stall++) {
    const untilMs = performance.now() + DB_PROBE_MS + 100;
    while (performance.now() < untilMs);
    await nextTurn();
  }
  await nextTurn();
  expect(opened).toBe(0);
});
