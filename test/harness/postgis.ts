import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import postgres from 'postgres';
import { spawnOptions } from '../../src/embedded/postgres-cluster.ts';
import { startPostmaster, stopPostmaster } from '../../src/embedded/postgres-process.ts';
import type { UnixUser } from '../../src/embedded/postgres-user.ts';
import { processStart } from '../../src/embedded/processes.ts';
import { removeFolder } from './folders.ts';
import { freePort } from './free-port.ts';
import { STEP_MS } from './patience.ts';

export type Postgis = {
  /** URL with user and password, of a database with the extension. */
  readonly url: string;
  /** Versions of the server and of PostGIS. */
  readonly versions: Readonly<Record<'postgres' | 'postgis', string>>;
  /** Of its first process. */
  readonly pid: number;
  /** Also where that has ended. */
  stop(): Promise<void>;
};

export type PostgresSettings = Readonly<Record<string, string | number>>;

const ATTEMPTS = 5;
/** Debian's folder of servers, with a folder for each version. */
const DEBIAN = '/usr/lib/postgresql';

/** The programs' folder of the newest Postgres with PostGIS; undefined if there is none. */
export function findPostgis(): string | undefined {
  const debian = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...debian.map((version) => join(DEBIAN, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ];
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && hasExtension(folder));
}

function hasExtension(folder: string): boolean {
  try {
    const share = execFileSync(join(folder, 'pg_config'), ['--sharedir'], { encoding: 'utf8', timeout: 5_000 }).trim();
    return existsSync(join(share, 'extension/postgis.control'));
  } catch {
    return false;
  }
}

/** Starts a new cluster on a free port, which `stop` removes, with settings of its own; undefined without PostGIS. */
export async function startPostgis(settings: PostgresSettings = {}): Promise<Postgis | undefined> {
  const programs = findPostgis();
  if (programs === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'bench-postgis-'));
  const runAs = process.geteuid?.() === 0 ? unprivilegedUser() : undefined;
  if (runAs) chownSync(folder, runAs.uid, runAs.gid);
  const password = randomBytes(18).toString('base64url');
  try {
    initCluster(programs, folder, password, runAs);
    const server = await startServer(programs, folder, settings, runAs);
    const stop = async (): Promise<void> => {
      // Without writing what it holds in memory, since its files are removed.
      if (processStart(server.pid) !== undefined) process.kill(server.pid, 'SIGQUIT');
      await stopPostmaster(server.pid);
      await rm(folder, { recursive: true, force: true });
    };
    const url = `postgres://bench:${password}@127.0.0.1:${server.port}/bench`;
    return await makeDatabase(url).then(
      (versions) => ({ url, versions, pid: server.pid, stop }),
      async (error) => {
        await stop();
        throw error;
      },
    );
  } catch (error) {
    removeFolder(folder);
    throw error;
  }
}

/** The user for Postgres, which does not run as root: that of its package, else `nobody`. */
function unprivilegedUser(): UnixUser {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  const found = ['postgres', 'nobody'].flatMap((name) => lines.filter((line) => line.startsWith(`${name}:`)))[0];
  const [, , uid = '65534', gid = '65534'] = found?.split(':') ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

function initCluster(programs: string, folder: string, password: string, runAs: UnixUser | undefined): void {
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (runAs) chownSync(passwordFile, runAs.uid, runAs.gid);
  const args = ['-D', join(folder, 'cluster'), '-U', 'bench', '--auth=scram-sha-256', '--encoding=UTF8', '--locale=C'];
  args.push(`--pwfile=${passwordFile}`, '--no-instructions');
  execFileSync(join(programs, 'initdb'), args, { ...spawnOptions({ runAs }), timeout: STEP_MS, stdio: 'pipe' });
  rmSync(passwordFile);
}

/** With the settings of the service's own database, equally durable, but for those that are given. */
async function startServer(programs: string, folder: string, settings: PostgresSettings, runAs: UnixUser | undefined) {
  const place = { clusterDir: join(folder, 'cluster'), logFile: join(folder, 'server.log'), runAs };
  const options = { durable: true, maxConnections: 100, settings, readyMs: STEP_MS };
  // Another process may take the port before the start.
  for (let attempt = 1; ; attempt++) {
    try {
      return await startPostmaster(place, join(programs, 'postgres'), await freePort(), options, () => undefined);
    } catch (error) {
      if (attempt === ATTEMPTS || !/could not bind|create any TCP/.test(String(error))) throw error;
    }
  }
}

async function makeDatabase(url: string): Promise<Postgis['versions']> {
  const first = postgres(url.replace(/bench$/, 'postgres'), { max: 1, onnotice: () => undefined });
  try {
    await first`create database bench`;
  } finally {
    await first.end({ timeout: 5 });
  }
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    await sql`create extension postgis`;
    const [row] = await sql`
      select current_setting('server_version') as postgres, extversion as postgis from pg_extension
      where extname = 'postgis'`;
    return { postgres: String(row?.postgres).split(' ')[0] as string, postgis: row?.postgis as string };
  } finally {
    await sql.end({ timeout: 5 });
  }
}
