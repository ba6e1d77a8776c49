import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { migrateDatabase } from '../../src/postgres/migrate.ts';
import { withDatabase } from './database-url.ts';
import { STEP_MS } from './patience.ts';
import { findPostgis, type Postgis, type PostgresSettings, startPostgis } from './postgis.ts';

/** Debian's Postgres, whose package has what makes backups; that of npm has not. */
export const PROGRAMS = findPostgis();

export type LiveDatabase = {
  /** With the superuser `bench`. */
  readonly url: string;
  readonly sql: Sql;
  /** For backups; everybody may write into it. */
  readonly folder: string;
  readonly server: Pick<Postgis, 'pid' | 'stop'>;
  /** Runs a program of Postgres on it, and waits for its end. */
  run(program: 'pg_dump' | 'pg_basebackup', ...args: string[]): Promise<unknown>;
  stop(): Promise<void>;
};

/**
 * Starts a Postgres with an empty database of the service, `live`, and with an archive of its log in `folder/wal`.
 *
 * @param settings more of Postgres's
 */
export async function startLiveDatabase(settings: PostgresSettings = {}): Promise<LiveDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'sameday-backups-'));
  mkdirSync(join(folder, 'wal'));
  // The server runs as another user where root runs the tests.
  for (const each of [folder, join(folder, 'wal')]) chmodSync(each, 0o777);
  const archive = { archive_mode: 'on', archive_command: `cp %p ${join(folder, 'wal')}/%f` };
  const server = await startPostgis({ ...archive, fsync: 'off', ...settings });
  if (server === undefined) throw new Error('There is no Postgres of Debian');
  const admin = connect({ url: server.url, applicationName: 'test', max: 1 });
  await admin`create database live`;
  await admin.end({ timeout: 5 });
  const url = withDatabase(server.url, 'live');
  await migrateDatabase({ url, dir: join(import.meta.dirname, '../../migrations') });
  const sql = connect({ url, applicationName: 'test', max: 2, statementTimeoutMs: STEP_MS, deadlineMs: STEP_MS });
  return {
    url,
    sql,
    folder,
    server,
    run: (program, ...args) => promisify(execFile)(join(PROGRAMS ?? '', program), [...args, `--dbname=${url}`]),
    async stop() {
      await sql.end({ timeout: 5 });
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
