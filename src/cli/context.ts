import type { Config } from '../config.ts';
import { newId } from '../domain/ids.ts';
import { DB_CONNECTIONS_CLI } from '../limits.ts';
import { connect } from '../postgres/connect.ts';
import { readLiveService } from '../sandbox/service-file.ts';
import { openStore, type Store } from '../store/store.ts';

/** What a command works with. */
export type Context = {
  readonly store: Store;
  readonly config: Config;
  readonly sandbox: boolean;
};

/** A mistake of the person at the keyboard, or something not found: one line, exit code 1. */
export class CommandError extends Error {}

/**
 * Runs a command against the database of the service: `DATABASE_URL`, or that of the service running on `DATA_DIR`.
 *
 * @throws {CommandError} when neither is there
 */
export async function withContext<T>(config: Config, work: (context: Context) => Promise<T>): Promise<T> {
  const live = readLiveService(config.dataDir);
  const url = config.databaseUrl ?? live?.databaseUrl;
  if (!url) {
    throw new CommandError(`No service is running on ${config.dataDir} and DATABASE_URL is not set. Try: npm start`);
  }
  const sandbox = config.databaseUrl ? config.sandbox || live?.mode === 'sandbox' : true;
  const sql = connect({ url, max: DB_CONNECTIONS_CLI, applicationName: 'sameday-cli' });
  try {
    // No process has this id, so every process heeds the notices of the command.
    const store = openStore({ sql, commits: sql, processId: `cli-${newId()}` });
    return await work({ store, config, sandbox });
  } finally {
    await sql.end({ timeout: 5 });
  }
}
