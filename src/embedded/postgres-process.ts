import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ServerOptions, serverSettings, spawnOptions } from './postgres-cluster.ts';
import type { Place } from './postgres-place.ts';
import { PROCESS_TOOL_MS, processCommand, processStart } from './processes.ts';

/** Longest wait for the embedded Postgres to accept connections. After a crash it replays its log first. */
const POSTGRES_READY_MS = 120_000;
/** Interval at which the state of a starting or stopping Postgres is read. */
const POSTGRES_POLL_MS = 10;
/** Interval at which a start that takes long says so. */
const POSTGRES_TELL_MS = 2_000;
/** Longest wait for an orderly stop of the embedded Postgres. */
const POSTGRES_FAST_STOP_MS = 5_000;
/** Longest wait for an immediate stop after that, and then for its end by force. */
const POSTGRES_IMMEDIATE_STOP_MS = 2_000;
/** Size in bytes above which the log of the embedded Postgres is emptied. */
const POSTGRES_LOG_BYTES = 4 * 1024 * 1024;
/** Interval at which the size of that log is checked. */
const POSTGRES_LOG_CHECK_MS = 60_000;

const SETPRIV = '/usr/bin/setpriv';

/** A running server, by the pid of its first process. */
export type Postmaster = { readonly pid: number; readonly port: number };

/** Where a server's cluster and its log are, and whose they are. */
type ServerPlace = Pick<Place, 'clusterDir' | 'logFile' | 'runAs'>;

/**
 * Starts the server and waits until it accepts connections. It runs in a session of its own, so that a Ctrl-C
 * at the terminal reaches this process only, which stops the server last. On Linux the kernel stops it when
 * the thread that started it dies.
 *
 * @param postgres the path of the program
 * @throws with the end of the server's log when it does not start
 */
export async function startPostmaster(
  place: ServerPlace,
  postgres: string,
  port: number,
  options: ServerOptions,
  log: (line: string) => void,
): Promise<Postmaster> {
  trimLog(place.logFile);
  const from = statSync(place.logFile, { throwIfNoEntry: false })?.size ?? 0;
  const args = ['-D', place.clusterDir, ...serverSettings(port, options)];
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
  const readyMs = options.readyMs ?? POSTGRES_READY_MS;
  await waitUntilReady(child, place, () => failed, { from, readyMs }, log);
  // Without the kernel's help, the exit handlers of this process stop the server.
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
  place: ServerPlace,
  failed: () => string | undefined,
  { from, readyMs }: { readonly from: number; readonly readyMs: number },
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
    if (now - started > readyMs) {
      child.kill('SIGQUIT');
      throw new Error(`Postgres was not ready within ${readyMs / 1000} s: ${logTail(place.logFile, from)}`);
    }
    if (now - told > POSTGRES_TELL_MS) {
      told = now;
      log('Postgres is still starting (after a crash it replays its log first)');
    }
    await sleep(POSTGRES_POLL_MS);
  }
}

let dieWithParentKnown: boolean | undefined;

/** Whether util-linux's setpriv is there, tried once; other programs of that name lack the option. */
function canDieWithParent(): boolean {
  dieWithParentKnown ??=
    process.platform === 'linux' &&
    existsSync(SETPRIV) &&
    spawnSync(SETPRIV, ['--pdeathsig', 'INT', '--', '/bin/true'], { timeout: PROCESS_TOOL_MS, stdio: 'ignore' })
      .status === 0;
  return dieWithParentKnown;
}

/** Reads `postmaster.pid`: the pid is on line 1, the port on line 4 and the status on line 8. */
export function readPidFile(clusterDir: string): { pid: number; port: number; ready: boolean } | undefined {
  try {
    const lines = readFileSync(`${clusterDir}/postmaster.pid`, 'utf8').split('\n');
    return { pid: Number(lines[0]), port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' };
  } catch {
    return undefined;
  }
}

/**
 * Finds the server that runs on the cluster, whoever started it. A `postmaster.pid` whose pid now belongs to
 * another program is removed, as Postgres would take it for a running server.
 */
export function findPostmaster(clusterDir: string): { pid: number; port: number; ready: boolean } | undefined {
  const found = readPidFile(clusterDir);
  if (found === undefined || processStart(found.pid) === undefined) return undefined;
  if (process.platform === 'win32' || processCommand(found.pid).includes(clusterDir)) return found;
  rmSync(`${clusterDir}/postmaster.pid`, { force: true });
  return undefined;
}

/** Stops a server in bounded steps: orderly, then immediately (so that it replays its log), then by force. */
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
      await sleep(POSTGRES_POLL_MS);
    }
  }
  throw new Error(`Postgres (process ${pid}) does not end.`);
}

/**
 * The last lines that the server wrote since `from`, those of what ended it where there are any, without anything a
 * customer typed (`serverSettings`).
 */
function logTail(file: string, from: number): string {
  try {
    const lines = readFileSync(file).subarray(from).toString('utf8').trim().split('\n');
    const fatal = lines.filter((line) => line.includes(' FATAL: '));
    return (fatal.length > 0 ? fatal : lines).slice(-4).join(' | ');
  } catch {
    return 'it left no log';
  }
}

function trimLog(file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > POSTGRES_LOG_BYTES) truncateSync(file);
}

/** Empties the log when it is large, which is safe because the server appends. */
function keepLogSmall(file: string, child: ChildProcess): void {
  const timer = setInterval(() => trimLog(file), POSTGRES_LOG_CHECK_MS);
  timer.unref();
  child.once('exit', () => clearInterval(timer));
}
