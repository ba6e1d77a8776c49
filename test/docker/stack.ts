import { spawn } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { isReachableByAll } from '../../src/embedded/postgres-binaries.ts';
import { freshDatabase } from '../harness/database.ts';
import { freshRedis } from '../harness/redis.ts';
import type { ComposeService } from './compose-file.ts';
import { type Image, nodePath, run } from './image.ts';

const READY = { interval: 50 };
/** What the service promises of a stop. */
const STOP_MS = 10_000;

type User = { readonly uid?: number; readonly gid?: number };

/** A process that stands for a container. */
export type Container = {
  url(): string;
  output(): string;
  /** Runs a command beside it, as `docker compose exec` does; rejects with its words when it fails. */
  exec(command: readonly string[]): Promise<string>;
  /** Sends SIGTERM; the exit code, or why there is none within `STOP_MS`. */
  stop(): Promise<number | string>;
  kill(): void;
};

export type Stack = {
  readonly api: Container;
  readonly worker: Container;
  /** What the two share. */
  readonly dataDir: string;
  remove(): Promise<void>;
};

/**
 * API and worker as `docker compose up` would start them: the image's command in its WORKDIR, its ENV and compose's
 * environment. Other than there are the addresses of Postgres (empty) and Redis, the place of `/data`, and the ports,
 * which are any free ones.
 */
export async function startStack(
  image: Image,
  services: { readonly api: ComposeService; readonly worker: ComposeService },
  dataDir: string,
): Promise<Stack> {
  const database = await freshDatabase({ migrated: false });
  const redis = await freshRedis();
  if (!redis) throw new Error('there is no Redis');
  const user = unprivilegedUser([process.execPath, image.root]);
  mkdirSync(dataDir);
  if (user.uid !== undefined && user.gid !== undefined) chownSync(dataDir, user.uid, user.gid);

  const start = ({ environment, volumes }: ComposeService) => {
    expect(volumes).toEqual([`data:${image.env.DATA_DIR}`]);
    expect(environment.DATABASE_URL).toContain('@postgres:5432/');
    expect(environment.REDIS_URL).toMatch(/^redis:\/\/:\w+@redis:6379$/);
    const addresses = { DATABASE_URL: database.url, REDIS_URL: redis.url, DATA_DIR: dataDir, PORT: '0' };
    return startContainer(image, user, { PATH: nodePath(), ...image.env, ...environment, ...addresses });
  };
  const containers = { api: start(services.api), worker: start(services.worker) };
  const remove = async () => {
    containers.api.kill();
    containers.worker.kill();
    await redis.stop();
    await database.drop();
  };
  return { ...containers, dataDir, remove };
}

/** As root somebody else stands for the image's user `node`, if he can reach these files; else it is who runs this. */
function unprivilegedUser(paths: readonly string[]): User {
  return process.geteuid?.() === 0 && paths.every(isReachableByAll) ? { uid: 65_534, gid: 65_534 } : {};
}

function startContainer(image: Image, user: User, env: Record<string, string>): Container {
  const [program = '', ...args] = image.command;
  const cwd = join(image.root, image.workdir);
  const child = spawn(program, args, { cwd, env, ...user, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(code ?? signal ?? ''));
  });
  let output = '';
  let url = '';
  const hear = (chunk: Buffer) => {
    output += String(chunk);
    url ||= /Sameday is ready at (\S+) \(/.exec(output)?.[1] ?? '';
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  return {
    url: () => url,
    output: () => output,
    exec: (command) => run(command, cwd, { ...env, PORT: url && new URL(url).port }, user),
    stop() {
      child.kill('SIGTERM');
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<string>((resolve) => {
        timer = setTimeout(() => resolve(`still running:\n${output}`), STOP_MS);
      });
      return Promise.race([ended, late]).finally(() => {
        clearTimeout(timer);
        process.off('exit', kill);
      });
    },
    kill,
  };
}

/** Its port is known once it says that it is ready; then the image's health check must agree. */
export async function untilHealthy(container: Container, image: Image): Promise<void> {
  await expect.poll(() => container.url() || container.output(), READY).toMatch(/^http:/);
  await container.exec(image.health);
}
