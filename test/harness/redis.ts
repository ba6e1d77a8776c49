import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { removeFolder } from './folders.ts';
import { freePort } from './free-port.ts';
import { STEP_MS } from './patience.ts';
import { findProgram } from './programs.ts';

export type FreshRedis = {
  readonly url: string;
  /** Keeps test files on a shared server apart, as BullMQ's `prefix` and that of keys and channels. */
  readonly prefix: string;
  /** The server, if it is not shared. */
  readonly server?: RedisServer;
  /** Ends the server, or removes the keys with the prefix from a shared one. */
  stop(): Promise<void>;
};

export type RedisServer = {
  pid(): number;
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Remembers its data as they are now. */
  remember(): void;
  /** Starts it again on the same port; `empty` drops its data, `as remembered` what it has written since. */
  start(how: 'with its data' | 'empty' | 'as remembered'): Promise<void>;
};

const PORT_RETRY_MS = 100;
let servers = 0;

/** The path of a server program; undefined if there is none on the PATH. */
export function findRedisServer(): string | undefined {
  return findProgram(['redis-server', 'valkey-server']);
}

/** Whether tests that need Redis can run. */
export const hasRedis = (): boolean => process.env.REDIS_URL !== undefined || findRedisServer() !== undefined;

/**
 * Starts a Redis for a test file, or takes `REDIS_URL` with a prefix; undefined if there is neither. It is
 * set up as the service needs it: `noeviction` and appendonly.
 */
export async function freshRedis(): Promise<FreshRedis | undefined> {
  const prefix = `test-${process.pid}-${Date.now().toString(36)}-${servers++}`;
  const url = process.env.REDIS_URL;
  if (url !== undefined) return { url, prefix, stop: () => removeKeys(url, prefix) };
  const program = findRedisServer();
  return program === undefined ? undefined : startServer(program, prefix);
}

async function startServer(program: string, prefix: string): Promise<FreshRedis> {
  const dir = mkdtempSync(join(tmpdir(), 'sameday-redis-'));
  // Another process may take the port before the start.
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const url = `redis://127.0.0.1:${port}`;
    let running = launch(program, port, dir);
    const start = async () => Promise.race([answers(url), running.ended.then(() => false)]);
    const kill = (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> => {
      running.child.kill(signal);
      return running.ended;
    };
    const remembered = `${dir}.remembered`;
    const stop = async (): Promise<void> => {
      await kill();
      removeFolder(remembered);
      removeFolder(dir);
    };
    const server: RedisServer = {
      pid: () => running.child.pid ?? 0,
      kill,
      remember() {
        removeFolder(remembered);
        cpSync(dir, remembered, { recursive: true });
      },
      async start(how) {
        if (how !== 'with its data') for (const name of readdirSync(dir)) rmSync(join(dir, name), { recursive: true });
        if (how === 'as remembered') cpSync(remembered, dir, { recursive: true });
        const untilMs = performance.now() + STEP_MS;
        do {
          running = launch(program, port, dir);
          if (await start()) return;
          await kill();
          // Another process may have taken the port while the server was stopped.
          await delay(PORT_RETRY_MS);
        } while (performance.now() < untilMs);
        throw new Error(`${program} does not start again`);
      },
    };
    if (await start()) return { url, prefix, server, stop };
    if (attempt === 5) {
      await stop();
      throw new Error(`${program} does not start`);
    }
    await kill();
  }
}

/** The server ends with this process at the latest. */
function launch(
  program: string,
  port: number,
  dir: string,
): { readonly child: ChildProcess; readonly ended: Promise<void> } {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'yes'];
  args.push('--appendfsync', 'no', '--maxmemory-policy', 'noeviction', '--daemonize', 'no');
  const child = spawn(program, args, { stdio: 'ignore' });
  const stopWithRun = (): void => void child.kill('SIGKILL');
  process.once('exit', stopWithRun);
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  void ended.then(() => process.off('exit', stopWithRun));
  return { child, ended };
}

async function answers(url: string): Promise<boolean> {
  const redis = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: null, maxLoadingRetryTime: 20 });
  redis.on('error', () => undefined);
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), STEP_MS);
    });
    return await Promise.race([redis.ping().then(() => true), late]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
    redis.disconnect();
  }
}

async function removeKeys(url: string, prefix: string): Promise<void> {
  const redis = new Redis(url);
  try {
    for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 500 })) {
      if ((keys as string[]).length > 0) await redis.del(...(keys as string[]));
    }
  } finally {
    redis.disconnect();
  }
}
