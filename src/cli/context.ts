import type { Config } from '../config.ts';
import { newId } from '../domain/ids.ts';
import { readLiveService } from '../embedded/service-file.ts';
import { connect } from '../postgres/connect.ts';
import { openStore, type Store } from '../store/store.ts';
import type { Output } from './output.ts';

/** Connections of one command. */
const DB_CONNECTIONS_CLI = 1;

/** What a command works with. */
export type Context = {
  readonly store: Store;
  readonly config: Config;
  readonly sandbox: boolean;
  /** The addresses of the service that runs on DATA_DIR, by name. */
  readonly urls: Readonly<Record<string, string>>;
  /** Where the queues are; null for the same Postgres. */
  readonly redisUrl: string | null;
  readonly output: Output;
};

/** A wrong argument, or something that does not exist: one line, exit code 1 by default. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * Runs a command on the database of DATABASE_URL, or on that of the service that runs on DATA_DIR.
 *
 * @throws {CommandError} if there is neither
 */
export async function withContext<T>(
  config: Config,
  output: Output,
  work: (context: Context) => Promise<T>,
): Promise<T> {
  const live = readLiveService(config.dataDir);
  const url = config.databaseUrl ?? live?.databaseUrl;
  if (!url) {
    throw new CommandError(`No service is running on ${config.dataDir} and DATABASE_URL is not set. Try: npm start`);
  }
  // A sandbox that runs on DATA_DIR says nothing of another database.
  const ran = live?.databaseUrl === url ? live : undefined;
  const sandbox = ran ? ran.mode === 'sandbox' : config.sandbox;
  const redisUrl = config.redisUrl ?? ran?.redisUrl ?? null;
  const sql = connect({ url, max: DB_CONNECTIONS_CLI, applicationName: 'sameday-cli' });
  try {
    // An id of its own, so that every process heeds the notices of the command.
    const store = openStore({ sql, commits: sql, lists: sql, processId: `cli-${newId()}` });
    return await work({ store, config, sandbox, urls: ran?.urls ?? {}, redisUrl, output });
  } finally {
    await sql.end({ timeout: 5 });
  }
}
