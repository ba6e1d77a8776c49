import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { pgPools } from '../../src/postgres/pg-pool.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { openLink } from '../harness/link.ts';
import { openTlsFront } from '../harness/tls-front.ts';
import { untilAt } from './statements.ts';

const database = await useFreshDatabase({ migrated: false });
let sql: Sql | undefined;
/** Ends each connection at once, as a balancer does that knows of no primary. */
let refusing: Server;
let dials: number;

beforeEach(async () => {
  dials = 0;
  refusing = createServer((socket) => {
    dials++;
    socket
      .on('error', () => undefined)
      .resume()
      .end();
  });
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  await sql?.end({ timeout: 1 });
  sql = undefined;
  await new Promise((resolve) => refusing.close(resolve));
});

const hosts = (...all: string[]): string => database.url.replace(/@[^/]+/, `@${all.join(',')}`);
const refusal = (): string => `127.0.0.1:${(refusing.address() as { port: number }).port}`;

it('goes to the next host of the URL from one that refuses, and stays there', async () => {
  sql = connect({ url: hosts(refusal(), new URL(database.url).host), applicationName: 'connect test', max: 3 });
  const pool = sql;
  await pool`select 1`;
  const dialled = dials;
  await Promise.all(Array.from({ length: 3 }, () => pool`select pg_sleep(0.1)`));
  expect(dialled).toBeGreaterThan(0);
  expect(dials).toBe(dialled);
});

it('leaves no connection behind that is still opening when the pool ends', async () => {
  const sockets: Socket[] = [];
  const opened = (message: unknown): unknown => sockets.push((message as { socket: Socket }).socket);
  subscribe('net.client.socket', opened);
  onTestFinished(() => void unsubscribe('net.client.socket', opened));
  const pool = connect({ url: database.url, applicationName: 'connect test', max: 1 });
  const asked = pool`select 1`.catch((error: { code?: string }) => error.code);
  await pool.end({ timeout: 0 });
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true]);
  expect(await asked).toBe('CONNECTION_ENDED');
});

it('fails the first statement of a connection that is lost with it, and does not answer it by another host', async () => {
  const link = await openLink(database.url);
  const { host } = new URL(database.url);
  sql = connect({ url: hosts(new URL(link.url).host, host), applicationName: 'connect test', max: 1 });
  const lost = sql`select pg_sleep(30)`.then(
    () => 'answered',
    () => 'failed',
  );
  await untilAt(database, 'select pg_sleep(30)');
  await link.close();
  expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  expect(await lost).toBe('failed');
});

it('pauses where every host refuses', async () => {
  sql = connect({ url: hosts(refusal()), applicationName: 'connect test', max: 1, deadlineMs: 1_000 });
  await expect(sql`select 1`).rejects.toMatchObject({ code: 'DEADLINE_UNSENT' });
  // A tenth of a second at least from one to the next, after the first; the statement waits for one second.
  expect(dials).toBeLessThanOrEqual(12);
});

it("so does the queues' client, with its next connection", async () => {
  const pool = pgPools(hosts(refusal(), new URL(database.url).host), 'public').open({ max: 3 });
  await expect(pool.query('select 1')).rejects.toThrow();
  await expect
    .poll(() =>
      pool.query('select 1').then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  const dialled = dials;
  await Promise.all(Array.from({ length: 3 }, () => pool.query('select pg_sleep(0.1)')));
  expect(dials).toBe(dialled);
  await pool.end();
});

it("a lost connection of the queues' client is a failure of its statement and no more", async () => {
  const pool = pgPools(database.url, 'public').open({ max: 1 });
  const end = (pid: unknown) => database.sql`select pg_terminate_backend(${Number(pid)})`;
  // Nobody listens for errors of the client or the pool.
  const client = await pool.connect();
  const { rows } = await client.query('select pg_backend_pid() as pid');
  const ended = new Promise<void>((resolve) => client.once('end', resolve));
  const lost = expect(client.query('select pg_sleep(30)')).rejects.toThrow();
  await end(rows[0].pid);
  await lost;
  await ended;
  client.release();
  const idle = await pool.query('select pg_backend_pid() as pid');
  await end(idle.rows[0].pid);
  await expect.poll(() => pool.totalCount).toBe(0);
  await pool.end();
});

describe('both clients follow sslmode and sslrootcert alike', () => {
  /** What became of a first statement of each client: its row, or the code or text of its error. */
  async function ask(url: string): Promise<unknown[]> {
    const own = connect({ url, applicationName: 'connect test', max: 1 });
    const pools = pgPools(url, 'public');
    const pool = pools.open({ max: 1 });
    const tries = async (left: number): Promise<number> =>
      pool.query('select 1').then(
        ({ rowCount }) => rowCount ?? 0,
        (error: unknown) => {
          if (left <= 1) throw error;
          return tries(left - 1);
        },
      );
    const told = (error: { code?: string }) => error.code;
    const answers = await Promise.all([own`select 1`.then(({ count }) => count, told), tries(pools.tries).catch(told)]);
    await Promise.all([own.end({ timeout: 1 }), pool.end()]);
    return answers;
  }

  it.each([
    ['require', 'which does not verify', 1],
    ['prefer', 'which does not verify', 1],
    ['verify-ca', 'with the authority of the server', 1],
    ['verify-ca', 'without it', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['verify-full', 'with the authority, under another name', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ])('with TLS: %s, %s', async (mode, how, outcome) => {
    const front = await openTlsFront(database.url);
    onTestFinished(() => front.close());
    const authority = how.startsWith('with the authority') ? `&sslrootcert=${encodeURIComponent(front.authority)}` : '';
    expect(await ask(`${front.url}?sslmode=${mode}${authority}`)).toEqual([outcome, outcome]);
  });

  it('goes on from a host that ends the connection: prefer', async () => {
    expect(await ask(`${hosts(refusal(), new URL(database.url).host)}?sslmode=prefer`)).toEqual([1, 1]);
  });

  it.each(['prefer', 'disable'])('without TLS: %s', async (mode) => {
    expect(await ask(`${database.url}?sslmode=${mode}`)).toEqual([1, 1]);
  });
});
