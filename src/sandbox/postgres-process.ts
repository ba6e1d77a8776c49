import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import {
  chownSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  POSTGRES_FAST_STOP_MS,
  POSTGRES_IMMEDIATE_STOP_MS,
  POSTGRES_INIT_MS,
  POSTGRES_LOG_BYTES,
  POSTGRES_READY_MS,
} from '../limits.ts';
import { type Binaries, programPath } from './postgres-binaries.ts';
import type { Place } from './postgres-place.ts';
import { processCommand, processStart } from './processes.ts';

const SETPRIV = '/usr/bin/setpriv';
const POLL_MS = 10;

/** A server that is up, by the pid of its first process. */
export type Postmaster = { readonly pid: number; readonly port: number };

/** Postgres's environment: nothing of ours, so that no PG… variable changes what it does. Windows needs its own. */
const ENVIRONMENT = process.platform === 'win32' ? {} : { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } };

/** As the cluster's user, outside any folder that user may not enter. */
const spawnOptions = (place: Place) => ({ ...ENVIRONMENT, ...place.runAs, cwd: place.runAs ? '/' : undefined });

/** Makes the cluster if there is none. A half-made one of a killed process is made again from the start. */
export async function initCluster(place: Place, binaries: Binaries, durable: boolean): Promise<boolean> {
  if (existsSync(place.clusterDir)) return false;
  const draft = `${place.clusterDir}.draft`;
  const passwordFile = `${place.clusterDir}.password`;
  await rm(draft, { recursive: true, force: true });
  rmSync(passwordFile, { force: true });
  writeFileSync(passwordFile, place.record.password, { mode: 0o600, flag: 'wx' });
  if (place.runAs) chownSync(passwordFile, place.runAs.uid, place.runAs.gid);
  const args = ['-D', draft, '-U', 'sameday', `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--encoding=UTF8'];
  args.push('--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--no-instructions');
  if (!durable) args.push('--no-sync');
  try {
    await run(programPath(binaries, 'initdb'), args, { ...spawnOptions(place), timeout: POSTGRES_INIT_MS });
  } finally {
    rmSync(passwordFile, { force: true });
  }
  await rename(draft, place.clusterDir);
  return true;
}

function run(program: string, args: string[], options: object): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { ...options, encoding: 'utf8' }, (error, _stdout, stderr) => {
      if (error === null) resolve();
      else if (/look up effective user/.test(stderr)) {
        const user = `user id ${(options as { uid?: number }).uid ?? process.geteuid?.()}`;
        reject(new Error(`Postgres needs an entry for ${user} in /etc/passwd: add one, or set DATABASE_URL.`));
      } else reject(new Error(`${program} failed: ${stderr.trim().split('\n').slice(-3).join(' ') || error.message}`));
    });
  });
}

/**
 * The settings of every start. The log may hold nothing a customer typed: no statement, no parameter, and no ERROR, whose
 * message quotes values (`log_min_messages = log` keeps what concerns the server and ended sessions).
 */
function settings(port: number, options: { durable: boolean; maxConnections: number }): string[] {
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
    log_connections: '',
    log_disconnections: 'off',
    log_lock_waits: 'off',
    log_temp_files: -1,
    log_autovacuum_min_duration: -1,
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/**
 * Starts the server and waits until it accepts connections. It runs in a session of its own, so a Ctrl-C at the terminal
 * reaches only this process, which stops it last; on Linux the kernel stops it when the thread that started it dies.
 *
 * @throws with the end of the server's log when it does not come up
 */
export async function startPostmaster(
  place: Place,
  binaries: Binaries,
  port: number,
  options: { durable: boolean; maxConnections: number },
  log: (line: string) => void,
): Promise<Postmaster> {
  trimLog(place.logFile);
  const from = statSync(place.logFile, { throwIfNoEntry: false })?.size ?? 0;
  const postgres = programPath(binaries, 'postgres');
  const args = ['-D', place.clusterDir, ...settings(port, options)];
  const dieWithParent = canDieWithParent();
  const file = openSync(place.logFile, 'a', 0o600);
  let child: ChildProcess;
  try {
    child = spawn(
      dieWithParent ? SETPRIV : postgres,
      dieWithParent ? ['--pdeathsig', 'INT', '--', postgres, ...args] : args,
      { ...spawnOptions(place), detached: true, windowsHide: true, stdio: ['ignore', file, file] },
    );
  } finally {
    closeSync(file);
  }
  let failed: string | undefined;
  child.once('error', (error) => {
    failed = error.message;
  });
  child.once('exit', (code, signal) => {
    failed ??= `it ended with ${signal ?? code}`;
  });
  child.unref();
  await waitUntilReady(child, place, () => failed, from, log);
  // Where the kernel does not do it, an end of this process that runs its exit handlers still stops the server.
  if (!dieWithParent) {
    const stop = (): void => void child.kill('SIGINT');
    process.once('exit', stop);
    child.once('exit', () => process.off('exit', stop));
  }
  keepLogSmall(place.logFile, child);
  return { pid: child.pid as number, port };
}

async function waitUntilReady(
  child: ChildProcess,
  place: Place,
  failed: () => string | undefined,
  from: number,
  log: (line: string) => void,
): Promise<void> {
  const started = performance.now();
  let told = started;
  for (;;) {
    const reason = failed();
    if (reason !== undefined) throw new Error(`Postgres did not start, ${reason}: ${logTail(place.logFile, from)}`);
    const pidFile = readPidFile(place.clusterDir);
    if (pidFile?.pid === child.pid && pidFile?.ready) return;
    const now = performance.now();
    if (now - started > POSTGRES_READY_MS) {
      child.kill('SIGQUIT');
      throw new Error(`Postgres was not ready within ${POSTGRES_READY_MS / 1000} s: ${logTail(place.logFile, from)}`);
    }
    if (now - told > 2_000) {
      told = now;
      log('Postgres is still starting (after a crash it replays its log first)');
    }
    await sleep(POLL_MS);
  }
}

let dieWithParentKnown: boolean | undefined;

/** util-linux's setpriv, tried once; others of that name lack the option. */
function canDieWithParent(): boolean {
  dieWithParentKnown ??=
    process.platform === 'linux' &&
    existsSync(SETPRIV) &&
    spawnSync(SETPRIV, ['--pdeathsig', 'INT', '--', '/bin/true'], { timeout: 2_000, stdio: 'ignore' }).status === 0;
  return dieWithParentKnown;
}

/** `postmaster.pid`: pid, directory, start, port, socket directory, address, shared memory, status (8th line). */
export function readPidFile(clusterDir: string): { pid: number; port: number; ready: boolean } | undefined {
  try {
    const lines = readFileSync(`${clusterDir}/postmaster.pid`, 'utf8').split('\n');
    return { pid: Number(lines[0]), port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' };
  } catch {
    return undefined;
  }
}

/**
 * The pid of a server that runs on the cluster, whoever started it. A `postmaster.pid` whose process is gone or is
 * another program by now is removed where Postgres itself would stumble over it.
 */
export function findPostmaster(clusterDir: string): { pid: number; port: number; ready: boolean } | undefined {
  const found = readPidFile(clusterDir);
  if (found === undefined || processStart(found.pid) === undefined) return undefined;
  if (process.platform === 'win32' || processCommand(found.pid).includes(clusterDir)) return found;
  rmSync(`${clusterDir}/postmaster.pid`, { force: true });
  return undefined;
}

/** Stops a server: orderly, then at once (the next start replays its log), then by force. Each step is bounded. */
export async function stopPostmaster(pid: number): Promise<void> {
  const started = processStart(pid);
  if (started === undefined) return;
  const steps = [
    ['SIGINT', POSTGRES_FAST_STOP_MS],
    ['SIGQUIT', POSTGRES_IMMEDIATE_STOP_MS],
    ['SIGKILL', POSTGRES_IMMEDIATE_STOP_MS],
  ] as const;
  for (const [signal, boundMs] of steps) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return;
      throw new Error(`Postgres (process ${pid}) belongs to another user and cannot be stopped.`, { cause: error });
    }
    const until = performance.now() + boundMs;
    while (performance.now() < until) {
      if (processStart(pid) !== started) return;
      await sleep(POLL_MS);
    }
  }
  throw new Error(`Postgres (process ${pid}) does not end.`);
}

/** The last lines of what the server wrote since `from`. They hold nothing a customer typed, see `settings`. */
function logTail(file: string, from: number): string {
  try {
    return readFileSync(file).subarray(from).toString('utf8').trim().split('\n').slice(-4).join(' | ');
  } catch {
    return 'it left no log';
  }
}

function trimLog(file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > POSTGRES_LOG_BYTES) truncateSync(file);
}

/** The server appends, so its log can be emptied under it. */
function keepLogSmall(file: string, child: ChildProcess): void {
  const timer = setInterval(() => trimLog(file), 60_000);
  timer.unref();
  child.once('exit', () => clearInterval(timer));
}
