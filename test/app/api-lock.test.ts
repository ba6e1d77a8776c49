import { existsSync, readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/postgres/connect.ts';
import { Closers } from '../../src/runtime/closers.ts';
import { holdApiLock } from '../../src/runtime/database.ts';
import { createLogger } from '../../src/telemetry.ts';
import { useFreshDatabase } from '../harness/database.ts';

const logger = createLogger('silent');
const soon = { interval: 10 };
const CHECK_MS = 20;
const database = await useFreshDatabase();

/** An API process that holds the lock, and the number of calls that report its loss. */
async function api(processId: string, hasRedis = false, url = database.url) {
  const closers = new Closers(logger);
  onTestFinished(() => closers.closeAll());
  const losses = { times: 0 };
  await holdApiLock({ url, processId, hasRedis }, logger, closers, () => losses.times++, CHECK_MS);
  return {
    losses,
    async stop() {
      await closers.closeAll();
      // Its session ends, and with it its lock, a moment after its connection.
      await expect.poll(async () => (await holders()).map(({ name }) => name), soon).not.toContain(nameOf(processId));
    },
  };
}
const nameOf = (processId: string) => `sameday-api-lock ${processId}`;

const holders = async () => {
  const rows = await database.sql`
    select a.pid, a.application_name as name from pg_locks l join pg_stat_activity a using (pid)
    where l.locktype = 'advisory' and l.granted and a.datname = current_database()`;
  return rows as unknown as { pid: number; name: string }[];
};
const end = (pid: number) => database.sql`select pg_terminate_backend(${pid}::int4)`;

/** A session that waits for the lock, and so gets it as soon as its holder loses it; returns its pid. */
async function nextInLine(applicationName: string): Promise<number> {
  const here = database.sql`
    locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`;
  const sql = connect({ url: database.url, max: 1, applicationName, deadlineMs: 0, statementTimeoutMs: 0 });
  onTestFinished(() => sql.end({ timeout: 1 }));
  const [waiting] = await sql`select pg_backend_pid() as pid`;
  const [lock] = await database.sql`
    select (classid::bigint << 32) | objid::bigint as number from pg_locks where ${here} and granted`;
  void sql`select pg_advisory_lock(${lock?.number}::int8)`.then(undefined, () => undefined);
  await expect.poll(() => database.sql`select from pg_locks where ${here} and not granted`, soon).toHaveLength(1);
  return waiting?.pid;
}

test('a second API process does not start while the first runs', async () => {
  const { stop } = await api('first');
  await expect(api('second')).rejects.toThrow('Another API process runs on this database');
  await stop();
});

test('an API process without Redis and one with it never run on one database, whichever is first', async () => {
  const first = await api('first', true);
  const second = await api('second', true);
  await expect(api('third')).rejects.toThrow('Another API process runs on this database');
  await first.stop();
  await expect(api('third')).rejects.toThrow('Another API process runs on this database');
  await second.stop();
  const alone = await api('third');
  await expect(api('fourth', true)).rejects.toThrow('without REDIS_URL runs on this database');
  await alone.stop();
});

test.each([
  ['', ''],
  [', whatever name the URL gives', '?application_name=other'],
])(
  'a process that lost its connection ends its own left-behind session and takes the lock again%s',
  async (_, name) => {
    const { losses, stop } = await api('a', false, database.url + name);
    const [before] = await holders();
    const left = await nextInLine('sameday-api-lock a');
    await end(before?.pid as number);
    const others = async () => (await holders()).filter(({ pid }) => pid !== before?.pid && pid !== left);
    await expect.poll(async () => (await others()).map(({ name }) => name), soon).toEqual(['sameday-api-lock a']);
    expect(losses.times).toBe(0);
    await stop();
  },
);

test('a process whose lock another one has taken is told once', async () => {
  const { losses, stop } = await api('a');
  const [before] = await holders();
  await nextInLine('sameday-api-lock b');
  await end(before?.pid as number);
  await expect.poll(() => losses.times, soon).toBe(1);
  expect((await holders()).map(({ name }) => name)).toEqual(['sameday-api-lock b']);
  expect(losses.times).toBe(1);
  await stop();
});

test.runIf(existsSync('/proc/net/tcp'))('a holder whose machine lost its power is missed within seconds', async () => {
  const { stop } = await api('a');
  const [session] = await database.sql`
    select client_port as port from pg_stat_activity where application_name = 'sameday-api-lock a'`;
  const hex = (port: string): string => Number(port).toString(16).toUpperCase().padStart(4, '0');
  // The server's end, with the hundredths of a second until its keepalive (timer 02) asks.
  const line = new RegExp(`:${hex(new URL(database.url).port)} \\w+:${hex(session?.port)} 01 \\S+ 02:(\\w+)`);
  const untilAsked = () => Number.parseInt(line.exec(readFileSync('/proc/net/tcp', 'utf8'))?.[1] ?? 'FFFF', 16) / 100;
  await expect.poll(untilAsked, soon).toBeLessThan(10);
  await stop();
});
