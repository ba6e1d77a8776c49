import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts';
import { later, until } from './later.ts';

/**
 * `fast` ends every session and writes a checkpoint; `immediate` is like a crash, after which the next start
 * replays the log.
 */
export type Shutdown = 'fast' | 'immediate';

const SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const;
const STOP_MS = 30_000;

/** The world's own Postgres, with ways to stop, freeze and restart it. */
export type Postgres = {
  readonly url: string;
  /** The folder of its files. */
  readonly folder: string;
  /**
   * Resolves once it accepts connections again at the same address.
   *
   * @param awayMs for how long it refuses them
   */
  restart(how: Shutdown, awayMs?: number): Promise<void>;
  /** Stops all of its processes for this time. */
  pause(ms: number): Promise<void>;
  stop(): Promise<void>;
};

export async function openPostgres(dataDir: string): Promise<Postgres> {
  const begin = () => startEmbeddedPostgres({ dataDir, log: () => undefined, superuser: true });
  let server = await begin();
  const { folder } = JSON.parse(readFileSync(join(dataDir, 'postgres.json'), 'utf8')) as { folder: string };
  const whole = resolve(dataDir, folder);
  const pid = (): number => Number(readFileSync(join(whole, 'cluster/postmaster.pid'), 'utf8').split('\n')[0]);
  return {
    url: server.url,
    folder: whole,
    async restart(how, awayMs = 0) {
      const postmaster = pid();
      process.kill(postmaster, SIGNALS[how]);
      await until('Postgres stops', () => !isAlive(postmaster), STOP_MS);
      await later(awayMs);
      const { url } = server;
      server = await begin();
      if (server.url !== url) throw new Error('Postgres came back at another address');
    },
    async pause(ms) {
      // The first process first, so that none is added while the others are stopped.
      process.kill(pid(), 'SIGSTOP');
      const all = processesOf([pid()]);
      for (const each of all) signal(each, 'SIGSTOP');
      await later(ms);
      for (const each of all) signal(each, 'SIGCONT');
    },
    stop: () => server.stop(),
  };
}

/** These processes, where they run, and their children. Each process of Postgres has a process group of its own. */
export const processesOf = (firsts: readonly number[]): number[] =>
  firsts.filter(isAlive).flatMap((first) => [first, ...childrenOf(first)]);

function childrenOf(parent: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    const status = /^\d+$/.test(name) ? statusOf(Number(name)) : null;
    return status?.parent === parent ? [Number(name)] : [];
  });
}

const isAlive = (pid: number): boolean => !['Z', 'X', undefined].includes(statusOf(pid)?.state);

function statusOf(pid: number): { readonly state: string | undefined; readonly parent: number } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return null;
  }
}

/** Sends a signal; a process that has ended meanwhile needs none. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
