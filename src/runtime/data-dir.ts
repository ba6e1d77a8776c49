import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config.ts';
import { errorFields } from '../telemetry.ts';
import { StartError } from './start-error.ts';

/** Room in bytes on the disk of DATA_DIR below which a check fails: 500 photos of half a megabyte. */
export const MIN_FREE_DISK_BYTES = 256 * 1024 * 1024;

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
    throw new StartError(
      `DATA_DIR cannot be made or written into: ${dataDir} (${code}). Let the user of the service write there, with ` +
        'systemd by ReadWritePaths of its unit, too; or set another one.',
      { cause: error },
    );
  }
}

/** What is wrong with the free bytes on the disk of DATA_DIR; null where they are enough. */
export function lackOfRoom(freeBytes: number): string | null {
  if (freeBytes >= MIN_FREE_DISK_BYTES) return null;
  const megabytes = (bytes: number) => `${Math.floor(bytes / 1024 / 1024)} MB`;
  return `has ${megabytes(freeBytes)} of its disk left: make room, at least ${megabytes(MIN_FREE_DISK_BYTES)}`;
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
