import { createServer, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';

let database: FreshDatabase;
let sql: Sql;
/** Ends each connection at once, as a balancer does that knows of no primary. */
let refusing: Server;
let dials: number;

beforeAll(async () => {
  database = await freshDatabase({ migrated: false });
});
beforeEach(async () => {
  dials = 0;
  refusing = createServer((socket) => {
    dials++;
    socket.on('error', () => undefined).end();
  });
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  await sql.end({ timeout: 1 });
  await new Promise((resolve) => refusing.close(resolve));
});
afterAll(() => database.drop());

const hosts = (...all: string[]): string => database.url.replace(/@[^/]+/, `@${all.join(',')}`);
const refusal = (): string => `127.0.0.1:${(refusing.address() as { port: number }).port}`;

it('goes to the next host of the URL from one that refuses, and stays there', async () => {
  sql = connect({ url: hosts(refusal(), new URL(database.url).host), applicationName: 'connect test', max: 3 });
  await sql`select 1`;
  const dialled = dials;
  await Promise.all(Array.from({ length: 3 }, () => sql`select pg_sleep(0.1)`));
  expect(dialled).toBeGreaterThan(0);
  expect(dials).toBe(dialled);
});

it('pauses where every host refuses', async () => {
  sql = connect({ url: hosts(refusal()), applicationName: 'connect test', max: 1, deadlineMs: 1_000 });
  await expect(sql`select 1`).rejects.toMatchObject({ code: 'DEADLINE_UNSENT' });
  // A tenth of a second at least from one to the next, after the first; the statement waits for one second.
  expect(dials).toBeLessThanOrEqual(12);
});
