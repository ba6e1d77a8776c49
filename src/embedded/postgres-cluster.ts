import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { type Binaries, programPath } from './postgres-binaries.ts';
import type { Place } from './postgres-place.ts';

/** Longest wait for initdb. It takes a second, or ten on a slow disk. */
const POSTGRES_INIT_MS = 120_000;

/** The service's database, and the role that owns it. */
export const DATABASE = 'sameday';
export const ROLE = 'sameday';
/** The cluster's superuser. Nobody knows its password, so it can't log in. */
const SUPERUSER = 'postgres';

/** Postgres's environment, without any PG… variable of this process. Windows needs its own. */
const ENVIRONMENT = process.platform === 'win32' ? {} : { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } };

/** Runs a program as the cluster's user, in a folder that this user may enter. */
export const spawnOptions = (place: Pick<Place, 'runAs'>) => ({
  ...ENVIRONMENT,
  ...place.runAs,
  cwd: place.runAs ? '/' : undefined,
});

/**
 * Makes the cluster, its role and its database where there is none, or where a killed process left it unfinished;
 * true when it did.
 */
export async function initCluster(
  place: Place,
  binaries: Binaries,
  options: { readonly durable: boolean; readonly superuser: boolean },
): Promise<boolean> {
  if (existsSync(place.clusterDir)) return false;
  const draft = `${place.clusterDir}.draft`;
  const passwordFile = `${place.clusterDir}.password`;
  await rm(draft, { recursive: true, force: true });
  rmSync(passwordFile, { force: true });
  writeFileSync(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx' });
  if (place.runAs) chownSync(passwordFile, place.runAs.uid, place.runAs.gid);
  const args = ['-D', draft, '-U', SUPERUSER, `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--encoding=UTF8'];
  args.push('--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--no-instructions');
  if (!options.durable) args.push('--no-sync');
  try {
    await run(programPath(binaries, 'initdb'), args, { ...spawnOptions(place), timeout: POSTGRES_INIT_MS });
  } finally {
    rmSync(passwordFile, { force: true });
  }
  await makeRole(place, binaries, draft, options);
  await rename(draft, place.clusterDir);
  return true;
}

/** Makes the role and its database by a Postgres that serves its input alone, so that no password is needed. */
async function makeRole(
  place: Place,
  binaries: Binaries,
  folder: string,
  { durable, superuser }: { readonly durable: boolean; readonly superuser: boolean },
): Promise<void> {
  const settings = { exit_on_error: 'on', fsync: durable ? 'on' : 'off', log_min_error_statement: 'panic' };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // The password is of letters, digits, - and _.
  const statements = [
    `create role ${ROLE} login ${superuser ? 'superuser' : ''} password '${place.record.password}'`,
    `create database ${DATABASE} owner ${ROLE}`,
  ];
  const input = statements.map((statement) => `${statement}\n`).join('');
  const single = ['--single', ...args, '-D', folder, 'template1'];
  await run(programPath(binaries, 'postgres'), single, { ...spawnOptions(place), timeout: POSTGRES_INIT_MS }, input);
}

/**
 * Runs a program to its end.
 *
 * @returns its output
 * @throws with the end of what it says on standard error
 */
export function run(program: string, args: string[], options: object, input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { ...options, encoding: 'utf8' }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else if (/look up effective user/.test(stderr)) {
        const user = `user id ${(options as { uid?: number }).uid ?? process.geteuid?.()}`;
        reject(new Error(`Postgres needs an entry for ${user} in /etc/passwd: add one, or set DATABASE_URL.`));
      } else reject(new Error(`${program} failed: ${stderr.trim().split('\n').slice(-3).join(' ') || error.message}`));
    });
    // A program that ends early does not read it; its exit tells.
    child.stdin?.on('error', () => undefined).end(input);
  });
}

export type ServerOptions = {
  readonly durable: boolean;
  readonly maxConnections: number;
  /** Settings in the place of those below. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Longest wait until the server is ready, a recovery included. */
  readonly readyMs?: number;
};

/**
 * The server's settings, as arguments. Its log must hold nothing that a customer typed: no statement, no
 * parameter, and no ERROR, whose message quotes values (`log_min_messages = log` leaves what concerns the
 * server and ended sessions).
 */
export function serverSettings(port: number, options: ServerOptions): string[] {
  const values: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: options.maxConnections,
    shared_buffers: '128MB',
    max_wal_size: '1GB',
    jit: 'off',
    TimeZone: 'UTC',
    log_timezone: 'UTC',
    lc_messages: 'C',
    fsync: options.durable ? 'on' : 'off',
    synchronous_commit: options.durable ? 'on' : 'off',
    full_page_writes: options.durable ? 'on' : 'off',
    logging_collector: 'off',
    log_destination: 'stderr',
    log_statement: 'none',
    log_min_duration_statement: -1,
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_parameter_max_length: 0,
    log_parameter_max_length_on_error: 0,
    log_checkpoints: 'off',
    log_connections: 'off',
    log_disconnections: 'off',
    log_lock_waits: 'off',
    log_temp_files: -1,
    log_autovacuum_min_duration: -1,
    ...options.settings,
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
