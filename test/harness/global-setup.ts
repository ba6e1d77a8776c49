import { chmodSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts';
import { connect } from '../../src/postgres/connect.ts';
import { migrateDatabase } from '../../src/postgres/migrate.ts';
import { withDatabase } from './database-url.ts';
import { removeFolder } from './folders.ts';

const TEMPLATE = 'sameday_template';
const MIGRATIONS = join(import.meta.dirname, '../../migrations');

/** Starts a Postgres for the run in a temporary folder, with a template database that test files clone. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sameday-test-'));
  // Root's Postgres runs as another user, which needs access to the folder.
  chmodSync(dataDir, 0o755);
  const options = { dataDir, log: () => undefined, durable: false, maxConnections: 300, superuser: true };
  const postgres = await startEmbeddedPostgres(options);
  const close = async (): Promise<void> => {
    await postgres.stop();
    const { folder } = JSON.parse(readFileSync(join(dataDir, 'postgres.json'), 'utf8')) as { folder: string };
    removeFolder(resolve(dataDir, folder));
    removeFolder(dataDir);
  };
  try {
    const admin = connect({ url: postgres.url, applicationName: 'test', max: 1 });
    await admin`create database ${admin(TEMPLATE)} template template0`;
    await admin.end();
    await migrateDatabase({ url: withDatabase(postgres.url, TEMPLATE), dir: MIGRATIONS });
  } catch (error) {
    await close();
    throw error;
  }
  project.provide('testPostgres', { url: postgres.url, template: TEMPLATE });
  return close;
}
