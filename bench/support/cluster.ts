import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readPidFile } from '../../src/embedded/postgres-process.ts';
import { newDataDir } from '../../test/harness/service.ts';

/** A folder for the service's data and its Postgres. */
export function newCluster() {
  const { dataDir } = newDataDir();
  // Root's Postgres runs as another user, which must be able to enter.
  chmodSync(dataDir, 0o755);
  const folderOfPostgres = (): string | undefined => {
    const record = join(dataDir, 'postgres.json');
    if (!existsSync(record)) return undefined;
    return resolve(dataDir, (JSON.parse(readFileSync(record, 'utf8')) as { folder: string }).folder);
  };
  return {
    dataDir,
    /** Ends the server without writing what it holds in memory, since its files are removed. */
    async quit(): Promise<void> {
      const found = readPidFile(join(folderOfPostgres() ?? dataDir, 'cluster'));
      if (found) process.kill(found.pid, 'SIGQUIT');
    },
    /** Removes the folder. */
    async stop(): Promise<void> {
      const folder = folderOfPostgres();
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
