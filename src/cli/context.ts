import type { Config } from '../config.ts';
import { newId } from '../domain/ids.ts';
import { DB_CONNECTIONS_CLI } from '../limits.ts';
import { connect, type Sql } from '../postgres/connect.ts';
import { readLiveService } from '../sandbox/service-file.ts';

/** What a command works with. */
export type Context = {
  readonly sql: Sql;
  readonly config: Config;
  readonly sandbox: boolean;
  /** Marks the notices of this command; no process has it, so every process heeds them. */
  readonly origin: string;
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
    return await work({ sql, config, sandbox, origin: `cli-${newId()}` });
  } finally {
    await sql.end({ timeout: 5 });
  }
}
