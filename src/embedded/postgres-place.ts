import { createHash, randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isReachableByAll } from './postgres-binaries.ts';
import { clusterUser, type UnixUser } from './postgres-user.ts';

/** The folder of clusters that the unprivileged user cannot reach in DATA_DIR. */
const SYSTEM_DATA = '/var/lib/sameday';

/** The content of DATA_DIR/postgres.json (mode 0600). */
export type PlaceRecord = {
  /** The folder of the cluster and its log, relative where it is inside DATA_DIR, which can then be moved. */
  readonly folder: string;
  /** The folder of the programs that started it last. */
  readonly binaries: string;
  readonly password: string;
  readonly port: number;
  /** The process that started it last, and its `processStart`. */
  readonly owner: { readonly pid: number; readonly started: string };
};

export type Place = {
  readonly record: PlaceRecord;
  readonly clusterDir: string;
  readonly logFile: string;
  /** The user that Postgres runs as; undefined for this process's own. */
  readonly runAs: UnixUser | undefined;
  save(changes: Partial<PlaceRecord>): void;
};

/**
 * Decides where the cluster of a DATA_DIR lives and makes that folder: `DATA_DIR/postgres`. For root, where
 * the unprivileged user cannot enter DATA_DIR, it is a folder in `/var/lib/sameday` that
 * `DATA_DIR/postgres.json` names.
 */
export async function openPlace(dataDir: string, log: (line: string) => void): Promise<Place> {
  mkdirSync(dataDir, { recursive: true });
  const file = join(dataDir, 'postgres.json');
  let record = readRecord(file) ?? newRecord(dataDir);
  const save = (changes: Partial<PlaceRecord>): void => {
    record = { ...record, ...changes };
    writeFileSync(`${file}.draft`, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
    // The folder's owner can start it again after a start by root.
    const { uid, gid } = statSync(dataDir);
    if (process.geteuid?.() === 0) chownSync(`${file}.draft`, uid, gid);
    renameSync(`${file}.draft`, file);
  };
  const folder = resolve(realpathSync(dataDir), record.folder);
  const clusterDir = join(folder, 'cluster');
  mkdirSync(folder, { recursive: true });
  const runAs = process.geteuid?.() === 0 ? (ownerOf(clusterDir) ?? (await clusterUser(log))) : undefined;
  if (runAs) chownSync(folder, runAs.uid, runAs.gid);
  save({});
  return {
    get record() {
      return record;
    },
    clusterDir,
    logFile: join(folder, 'server.log'),
    runAs,
    save,
  };
}

/** The owner of an existing cluster, which root keeps. */
function ownerOf(clusterDir: string): UnixUser | undefined {
  const stat = statSync(clusterDir, { throwIfNoEntry: false });
  return stat && stat.uid !== 0 ? { uid: stat.uid, gid: stat.gid } : undefined;
}

function readRecord(file: string): PlaceRecord | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as PlaceRecord;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code === 'EACCES') throw new Error(`${file} belongs to another user: start as that user, or set DATA_DIR.`);
    throw new Error(`${file} cannot be read; it holds the password of the database beside it.`, { cause: error });
  }
}

function newRecord(dataDir: string): PlaceRecord {
  const base = realpathSync(dataDir);
  let folder = 'postgres';
  if (process.geteuid?.() === 0 && !isReachableByAll(base)) {
    const hash = createHash('sha256').update(base).digest('hex').slice(0, 16);
    // The random part keeps a new DATA_DIR apart from the cluster of a removed one at the same path.
    folder = join(SYSTEM_DATA, `${hash}-${randomBytes(4).toString('hex')}`);
  }
  if (statSync(join(base, folder, 'cluster'), { throwIfNoEntry: false })) {
    throw new Error(
      `${join(base, folder)} holds a database whose password was in ${join(base, 'postgres.json')}, which is gone: put it back, or remove that folder to start empty.`,
    );
  }
  const password = randomBytes(24).toString('base64url');
  return { folder, binaries: '', password, port: 0, owner: { pid: 0, started: '' } };
}
