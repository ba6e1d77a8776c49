import { randomBytes } from 'node:crypto';
import { afterAll, inject } from 'vitest';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { withDatabase } from './database-url.ts';
import { STEP_MS } from './patience.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server of this run, and its template database with every migration. */
    testPostgres: { url: string; template: string };
  }
}

export type TestDatabase = { readonly url: string; readonly sql: Sql };
export type FreshDatabase = TestDatabase & {
  /** Closes `sql` and removes the database; fails if any other connection is still open after `patienceMs`. */
  drop(patienceMs?: number): Promise<void>;
};

/**
 * Clones the run's template into a new database for a test file, with every migration applied.
 *
 * `drop()` fails if a connection is left, because that is a pool that was not closed.
 */
export async function freshDatabase(options: { migrated?: boolean; max?: number } = {}): Promise<FreshDatabase> {
  const server = inject('testPostgres');
  const name = `test_${process.pid}_${randomBytes(4).toString('hex')}`;
  const template = options.migrated === false ? 'template0' : server.template;
  await onServer(server.url, async (admin) => {
    // The other strategy writes each page to the log, at three times the work.
    await admin`create database ${admin(name)} template ${admin(template)} strategy file_copy`;
  });
  const url = withDatabase(server.url, name);
  // A statement that takes long on a busy machine is no fault.
  const patience = { statementTimeoutMs: STEP_MS, deadlineMs: STEP_MS };
  const sql = connect({ url, applicationName: 'test', max: options.max ?? 5, ...patience });
  return {
    url,
    sql,
    async drop(patienceMs = STEP_MS) {
      await sql.end({ timeout: 5 });
      await onServer(server.url, (admin) => dropUnused(admin, name, patienceMs));
    },
  };
}

/**
 * Opens a fresh database for the test file that awaits this, and removes it after the last test. It is open before the
 * first test, so a file names what it makes of it by constants.
 */
export async function useFreshDatabase(options: Parameters<typeof freshDatabase>[0] = {}): Promise<FreshDatabase> {
  const database = await freshDatabase(options);
  afterAll(() => database.drop());
  return database;
}

async function dropUnused(admin: Sql, name: string, patienceMs: number): Promise<void> {
  // A backend ends a moment after its client has closed the connection.
  const until = performance.now() + patienceMs;
  for (;;) {
    const open = await admin`select application_name, state, query from pg_stat_activity where datname = ${name}`;
    if (open.length === 0) break;
    if (performance.now() > until) {
      await admin`drop database ${admin(name)} with (force)`;
      const who = open.map((row) => `${row.application_name} (${row.state}: ${row.query})`).join(', ');
      throw new Error(`Connections were left open: ${who}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await admin`drop database ${admin(name)}`;
}

/** Runs `work` on the server's own database. */
async function onServer<Result>(url: string, work: (admin: Sql) => Promise<Result>): Promise<Result> {
  // Cloning many databases at once waits for the disk, which is no fault.
  const admin = connect({ url, applicationName: 'test', max: 1, statementTimeoutMs: STEP_MS, deadlineMs: STEP_MS });
  try {
    return await work(admin);
  } finally {
    await admin.end({ timeout: 5 });
  }
}
