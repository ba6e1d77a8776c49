import { cpSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { migrateDatabase } from '../../src/postgres/migrate.ts';
import { type FreshDatabase, useFreshDatabase } from '../harness/database.ts';
import { removeFolder } from '../harness/folders.ts';

const OURS = join(import.meta.dirname, '../../migrations');

/**
 * Opens a database for the test file that awaits this, with the tables that the migrations before this one make.
 *
 * @param max connections of its pool
 */
export async function useTablesBefore(
  migration: string,
  max?: number,
): Promise<FreshDatabase & { /** Applies all others. */ migrate(): Promise<void> }> {
  const database = await useFreshDatabase({ migrated: false, ...(max && { max }) });
  const dir = mkdtempSync(join(tmpdir(), 'sameday-migrations-'));
  afterAll(() => removeFolder(dir));
  const migrate = async (names = readdirSync(OURS)) => {
    for (const name of names) cpSync(join(OURS, name), join(dir, name));
    await migrateDatabase({ url: database.url, dir });
  };
  await migrate(readdirSync(OURS).filter((name) => name < migration));
  return { ...database, migrate: () => migrate() };
}
