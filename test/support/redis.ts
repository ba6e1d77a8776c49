import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { findProgram } from './programs.ts';

export type FreshRedis = {
  readonly url: string;
  /** Kept apart from other files on a shared server; to be used for BullMQ's `prefix` and for keys and channels. */
  readonly prefix: string;
  /** Ends the server, or on a shared one removes what has the prefix. */
  stop(): Promise<void>;
};

const READY_MS = 10_000;
let servers = 0;

/** The server program a test may start; undefined when neither is on the PATH. */
export function findRedisServer(): string | undefined {
  return findProgram(['redis-server', 'valkey-server']);
}

/** Whether tests that need Redis can run. */
export const hasRedis = (): boolean => process.env.REDIS_URL !== undefined || findRedisServer() !== undefined;

/**
 * A Redis of its own for a test file, or `REDIS_URL` with a prefix of its own; undefined when there is none. Set up as
 * the service asks for: `noeviction` and appendonly.
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
  // Another process may take the port between its choice and the start.
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'yes'];
    args.push('--appendfsync', 'no', '--maxmemory-policy', 'noeviction', '--daemonize', 'no');
    const child = spawn(program, args, { stdio: 'ignore' });
    const ended = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve());
    });
    const url = `redis://127.0.0.1:${port}`;
    const stopWithRun = (): void => void child.kill('SIGKILL');
    process.once('exit', stopWithRun);
    const stop = async (): Promise<void> => {
      process.off('exit', stopWithRun);
      child.kill('SIGKILL');
      await ended;
      rmSync(dir, { recursive: true, force: true });
    };
    if (await Promise.race([answers(url), ended.then(() => false)])) return { url, prefix, stop };
    if (attempt === 5) {
      await stop();
      throw new Error(`${program} does not start`);
    }
    process.off('exit', stopWithRun);
    child.kill('SIGKILL');
    await ended;
  }
}

async function answers(url: string): Promise<boolean> {
  const redis = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  redis.on('error', () => undefined);
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), READY_MS);
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

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
