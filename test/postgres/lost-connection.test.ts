import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { useFreshDatabase } from '../harness/database.ts';

const database = await useFreshDatabase({ migrated: false });
const sockets: Socket[] = [];
const opened = (message: unknown): unknown => sockets.push((message as { socket: Socket }).socket);
let sql: Sql;

beforeEach(async () => {
  sockets.length = 0;
  subscribe('net.client.socket', opened);
  sql = connect({ url: database.url, applicationName: 'lost connection test', max: 1 });
  await sql`select 1`;
});
afterEach(async () => {
  unsubscribe('net.client.socket', opened);
  await sql.end({ timeout: 1 });
});

const outcome = (statement: Promise<unknown>): Promise<unknown> =>
  statement.catch((error: { code?: string }) => error.code);
const theSocket = (): Socket => sockets[0] as Socket;

/** A statement that is given to the connection in the turn of the event loop in which the connection is lost. */
const inTheSameTurn = (lose: () => void): Promise<unknown> =>
  new Promise((resolve) => {
    setImmediate(() => {
      lose();
      resolve(outcome(sql`select 2 as two`));
    });
  });

// The client's own faults, which scripts/mends.mjs mends.
describe('a connection that is lost', () => {
  it('is opened again, though a statement was not written yet', async () => {
    expect(await inTheSameTurn(() => theSocket().destroy())).toBe('CONNECTION_CLOSED');
    expect(await outcome(sql`select 3 as three`)).toEqual([{ three: 3 }]);
  });

  it('fails a statement that was given to it after its error, instead of answering it with no rows', async () => {
    const late = new Promise((resolve) => {
      theSocket().once('error', () => resolve(outcome(sql`select 2 as two`)));
    });
    theSocket().destroy(new Error('reset'));
    expect(await late).toBe('CONNECTION_CLOSED');
    expect(await outcome(sql`select 3 as three`)).toEqual([{ three: 3 }]);
  });

  it('forgets the rows that it had read of an answer', async () => {
    const half = outcome(sql`select i, repeat('x', 100) as x from generate_series(1, 1000000) i`);
    await expect.poll(() => theSocket().bytesRead).toBeGreaterThan(1_000_000);
    theSocket().destroy();
    expect(await half).toBe('CONNECTION_CLOSED');
    expect(await outcome(sql`select 3 as three`)).toEqual([{ three: 3 }]);
  });

  it('ends nothing but the transaction that it was reserved for', async () => {
    const one = connect({ url: database.url, applicationName: 'lost connection test', max: 1, deadlineMs: 0 });
    const ended = outcome(
      one.begin(async (own) => {
        await own`select 1`;
        sockets.at(-1)?.destroy();
        await outcome(own`select 2 as two`);
        await own`select 3 as three`;
      }),
    );
    expect(await ended).toBe('CONNECTION_CLOSED');
    expect(await outcome(one`select 4 as four`)).toEqual([{ four: 4 }]);
    await one.end({ timeout: 1 });
  });
});
