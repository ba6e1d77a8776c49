import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config.ts';
import { errorFields } from '../telemetry.ts';
import { StartError } from './start-error.ts';

/**
 * Makes DATA_DIR where it is missing, once for everything that is written into it: the sandbox's files and
 * ledgers, the embedded Postgres, and the photos of an API process without a bucket.
 *
 * @throws {StartError} if there is something to write and the folder cannot be made or written into
 */
export function makeDataDir({ sandbox, databaseUrl, roles, photoBucket, dataDir }: Config): void {
  if (!sandbox && databaseUrl && (photoBucket || !roles.has('api'))) return;
  try {
    makeFolders(dataDir);
    accessSync(dataDir, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = errorFields(error);
    throw new StartError(`DATA_DIR cannot be made or written into: ${dataDir} (${code}). Set another one.`, {
      cause: error,
    });
  }
}

/** One by one from above, since Node 20, which makes them all, tries for ever below /proc. */
function makeFolders(folder: string): void {
  if (existsSync(folder)) return;
  makeFolders(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another process of this service may have made it meanwhile.
    if (errorFields(error).code !== 'EEXIST') throw error;
  }
}
