import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { copyFile, cp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { connect, type Sql } from '../postgres/connect.ts';
import { binFolder, prepareBinaries } from './postgres-binaries.ts';
import { run, spawnOptions } from './postgres-cluster.ts';
import { findPostmaster, startPostmaster, stopPostmaster } from './postgres-process.ts';
import { clusterUser } from './postgres-user.ts';

/** Longest restore of a dump, and longest replay of a log: one that is begun in the evening has ended by morning. */
const RESTORE_MS = 6 * 60 * 60_000;
/** Longest answer of a program about itself or about the head of a dump. */
const ASK_MS = 60_000;
/** Longest removal of the copy of an interrupted check. Postgres kills what has not ended after 5 s. */
const LEAVE_MS = 10_000;
/** Tables and indexes of a dump that are restored at once. */
const RESTORE_JOBS = 4;
/** Longest statement of a check, which reads whole tables. */
const CHECK_STATEMENT_MS = 30 * 60_000;
/** Connections of the restored cluster: those of RESTORE_JOBS, the check's one, and Postgres's reserve. */
const RESTORED_CONNECTIONS = RESTORE_JOBS + 16;
/** Its socket's name; nothing listens on a port. */
const PORT = 5432;
/** Major versions whose programs are looked for, the newest first: one a year, for twenty years. */
const MAJORS = Array.from({ length: 20 }, (_, back) => 34 - back);
const DUMPED_FROM = /Dumped from database version: (\d{1,3})/;
const VERSION = /\(PostgreSQL\) (\d{1,3})/;
const SEGMENT = /^[0-9A-F]{24}$/;
const HISTORY = /^[0-9A-F]{8}\.history$/;
const FIRST_SEGMENT = /^START WAL LOCATION: .*\(file ([0-9A-F]{24})\)$/m;

export type Backup = {
  /** A dump of pg_dump (a file of the custom format, or a folder), or a base backup: a cluster's folder. */
  readonly path: string;
  /** The folder of archived segments of the log. */
  readonly wal: string | null;
  /** The log is replayed up to this time; to its end by default. */
  readonly until: Date | null;
  /** The database in a base backup, and its superuser. */
  readonly database: string;
  readonly user: string;
  /** The folder of Postgres's programs; by default one of the backup's version is looked for. */
  readonly programs: string | null;
  /** The folder in which the temporary cluster is made. */
  readonly temporary: string | null;
};

export type Restored = {
  readonly sql: Sql;
  /** How `migrateDatabase` reaches it. */
  readonly place: { readonly url: string; readonly socket: string };
  readonly kind: 'dump' | 'base backup';
  readonly version: string;
  /** Ends the cluster and removes its folder. Idempotent. */
  remove(): Promise<void>;
};

/** The backup cannot be restored here; the message is for the operator. */
export class NotRestored extends Error {}

/**
 * Restores a backup into a new cluster in a folder that only its user can enter. The cluster listens on a Unix socket
 * in that folder alone, reads no setting of the backup, archives nothing and follows no primary.
 *
 * @throws NotRestored for what is no backup, for programs of another version, and with the words of the program that
 *   fails
 */
export async function restoreBackup(backup: Backup, log: (line: string) => void): Promise<Restored> {
  if (process.platform === 'win32') throw new NotRestored('A backup is checked on Linux or macOS.');
  if (!existsSync(backup.path)) throw new NotRestored(`There is no ${backup.path}.`);
  const isBase = existsSync(join(backup.path, 'PG_VERSION'));
  if (!isBase && (backup.wal || backup.until))
    throw new NotRestored('A dump has no log: --wal and --until are for base backups.');
  const folder = mkdtempSync(join(backup.temporary ?? temporaryFolder(), 'sameday-backup-'));
  const runAs = process.geteuid?.() === 0 ? await clusterUser(log) : undefined;
  if (runAs) lchownSync(folder, runAs.uid, runAs.gid);
  const place = { clusterDir: join(folder, 'cluster'), logFile: join(folder, 'server.log'), runAs };
  const undo: (() => unknown)[] = [];
  const remove = async () => {
    for (let step = undo.pop(); step; step = undo.pop()) await step();
  };
  // A Ctrl-C or a closed terminal leaves no copy of customers' data.
  const leave = () => {
    removeAtOnce(folder, place.clusterDir);
    process.exit(2);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // Behind npm a terminal's Ctrl-C arrives twice; the second one must not end the removal.
    process.on(signal, leave);
    undo.push(() => process.off(signal, leave));
  }
  undo.push(() => rm(folder, { recursive: true, force: true }));
  try {
    const version = isBase ? readFileSync(join(backup.path, 'PG_VERSION'), 'utf8').trim() : await versionOfDump(backup);
    const programs = await findPrograms(version, backup, log);
    const recovery = isBase
      ? await copyCluster(backup, place.clusterDir)
      : await makeCluster(programs.server, place.clusterDir, spawnOptions(place));
    writeFileSync(join(folder, 'pg_hba.conf'), 'local all all trust\n');
    writeFileSync(join(folder, 'postgresql.conf'), '');
    const inside = runAs ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
    for (const name of inside) lchownSync(join(folder, name), runAs?.uid ?? 0, runAs?.gid ?? 0);
    const settings = {
      ...recovery,
      config_file: join(folder, 'postgresql.conf'),
      hba_file: join(folder, 'pg_hba.conf'),
      ident_file: join(folder, 'postgresql.conf'),
      listen_addresses: '',
      unix_socket_directories: folder,
      archive_mode: 'off',
      // Otherwise the primary's own settings would be asked for.
      hot_standby: 'off',
    };
    const options = { durable: false, maxConnections: RESTORED_CONNECTIONS, settings, readyMs: RESTORE_MS };
    const { pid } = await startPostmaster(place, join(programs.server, 'postgres'), PORT, options, log);
    undo.push(() => stopPostmaster(pid));
    const database = isBase ? backup.database : 'sameday';
    const user = isBase ? backup.user : 'postgres';
    const socket = join(folder, `.s.PGSQL.${PORT}`);
    if (!isBase) await restoreDump(backup.path, programs.restore, folder, socket);
    const url = `postgres://${encodeURIComponent(user)}@localhost/${encodeURIComponent(database)}`;
    const sql = open(url, socket);
    undo.push(() => sql.end({ timeout: 1 }));
    return { sql, place: { url, socket }, kind: isBase ? 'base backup' : 'dump', version, remove };
  } catch (error) {
    await remove();
    throw error instanceof NotRestored ? error : new NotRestored((error as Error).message, { cause: error });
  }
}

/** Removes the folder of an interrupted check, and ends its server, which may put files into it until it has ended. */
function removeAtOnce(folder: string, clusterDir: string): void {
  for (const until = performance.now() + LEAVE_MS; existsSync(folder) && performance.now() < until; ) {
    try {
      const server = findPostmaster(clusterDir);
      if (server) process.kill(server.pid, 'SIGQUIT');
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // There was a new file, or the server has just ended.
    }
  }
}

/** /tmp may be in memory, which the cluster would take from the service. */
function temporaryFolder(): string {
  const folder = tmpdir();
  try {
    if (folder !== '/tmp') return folder;
    accessSync('/var/tmp', constants.W_OK);
    return '/var/tmp';
  } catch {
    return folder;
  }
}

const open = (url: string, socket: string): Sql =>
  connect({
    url,
    socket,
    max: 1,
    applicationName: 'sameday backup',
    statementTimeoutMs: CHECK_STATEMENT_MS,
    deadlineMs: CHECK_STATEMENT_MS,
  });

/** The major version of the server that was dumped, by the newest pg_restore, which reads the dumps of all before. */
async function versionOfDump({ path, programs }: Backup): Promise<string> {
  const newest = programs ?? MAJORS.flatMap(foldersOf).find(hasRestore);
  if (newest === undefined) {
    throw new NotRestored(
      'pg_restore is not found: install Postgres of the version of the dump, or name its folder by --programs.',
    );
  }
  const list = await ask(join(newest, 'pg_restore'), ['--list', path]);
  const [, version] = DUMPED_FROM.exec(list.slice(0, 4_000)) ?? [];
  if (version === undefined) throw new NotRestored(`${path} is no dump of pg_dump --format=custom or directory.`);
  return version;
}

/** Where packages of Debian and of Red Hat put the programs of a major version. */
const foldersOf = (version: number | string): string[] => [
  `/usr/lib/postgresql/${version}/bin`,
  `/usr/pgsql-${version}/bin`,
];

const hasRestore = (folder: string): boolean => existsSync(join(folder, 'pg_restore'));

/** The folders of `postgres` and of `pg_restore`, both of the backup's version. */
async function findPrograms(
  version: string,
  { programs }: Backup,
  log: (line: string) => void,
): Promise<{ readonly server: string; readonly restore: string }> {
  const found = programs ?? foldersOf(version).find(hasRestore);
  let server = found;
  if (server === undefined || !existsSync(join(server, 'postgres'))) {
    server = binFolder(await prepareBinaries(tmpdir(), log));
  }
  const [, its] = VERSION.exec(await ask(join(server, 'postgres'), ['--version'])) ?? [];
  if (its === version) return { server, restore: found ?? server };
  const remedy = `install postgresql-${version}, or name the folder of its programs by --programs`;
  throw new NotRestored(`The backup is of Postgres ${version}, and ${server} has Postgres ${its}: ${remedy}.`);
}

/** Makes a cluster, which needs no settings. */
async function makeCluster(programs: string, folder: string, options: object): Promise<Record<string, string>> {
  const args = ['-D', folder, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
  await ask(join(programs, 'initdb'), [...args, '--no-instructions'], options);
  return {};
}

async function restoreDump(path: string, programs: string, folder: string, socket: string): Promise<void> {
  const sql = open('postgres://postgres@localhost/postgres', socket);
  try {
    await sql`create database sameday template template0`;
  } finally {
    await sql.end({ timeout: 1 });
  }
  const where = [`--host=${folder}`, `--port=${PORT}`, '--username=postgres', '--dbname=sameday'];
  const how = ['--no-owner', '--no-privileges', '--exit-on-error', `--jobs=${RESTORE_JOBS}`];
  await ask(join(programs, 'pg_restore'), [...where, ...how, path], { timeout: RESTORE_MS });
}

/**
 * Copies a base backup, with the archived segments of its log that it needs.
 *
 * @returns the settings of its recovery
 */
async function copyCluster({ path, wal, until }: Backup, to: string): Promise<Record<string, string>> {
  const label = join(path, 'backup_label');
  if ((wal || until) && !existsSync(label)) {
    throw new NotRestored(`${path} has no backup_label: --wal and --until are for what pg_basebackup made.`);
  }
  const left = new Set(['postmaster.pid', 'postmaster.opts', 'standby.signal', 'recovery.signal', 'pg_replslot']);
  const filter = (from: string): boolean => {
    if (left.has(relative(path, from))) return false;
    // A link leads to the log or a tablespace of the cluster that was copied, which may be at work.
    if (from !== path && lstatSync(from).isSymbolicLink())
      throw new NotRestored(`${from} is a link: a base backup with a tablespace or a log of its own is not checked.`);
    return true;
  };
  await cp(path, to, { recursive: true, filter });
  chmodSync(to, 0o700);
  mkdirSync(join(to, 'pg_replslot'));
  // What ALTER SYSTEM set: commands that archive, and the primary to follow.
  writeFileSync(join(to, 'postgresql.auto.conf'), '');
  if (!wal && !until) return {};
  if (wal) {
    const [, first = ''] = FIRST_SEGMENT.exec(readFileSync(label, 'utf8')) ?? [];
    // The first eight digits are the timeline, which a failover changes.
    const isNeeded = (name: string) => SEGMENT.test(name) && name.slice(8) >= first.slice(8);
    const names = readdirSync(wal).filter((name) => HISTORY.test(name) || isNeeded(name));
    if (!names.some((name) => SEGMENT.test(name))) {
      throw new NotRestored(`${wal} has no segment of the log since the backup (24 hex digits, not compressed).`);
    }
    for (const name of names) await copyFile(join(wal, name), join(to, 'pg_wal', name));
  }
  writeFileSync(join(to, 'recovery.signal'), '');
  // All segments are in pg_wal, where recovery looks for what this command does not bring.
  // Postgres reads its settings before it knows Z.
  const time = until?.toISOString().replace('Z', '+00');
  const target = time === undefined ? {} : { recovery_target_time: time, recovery_target_action: 'promote' };
  return { restore_command: 'false', recovery_target_timeline: 'latest', ...target };
}

/** @throws NotRestored with the end of what the program says */
async function ask(program: string, args: string[], options: object = {}): Promise<string> {
  try {
    return await run(program, args, { timeout: ASK_MS, maxBuffer: 64 * 1024 * 1024, ...options });
  } catch (error) {
    throw new NotRestored((error as Error).message, { cause: error });
  }
}
