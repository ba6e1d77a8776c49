import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { deployFile } from '../harness/deploy-file.ts';
import { removeFolder } from '../harness/folders.ts';
import { freePort } from '../harness/free-port.ts';
import { type FreshRedis, findRedisServer } from '../harness/redis.ts';
import { until } from './later.ts';
import { ended } from './programs.ts';

const SENTINELS = 3;
/** The name by which the sentinels of deploy/sentinel.conf know the servers. */
const GROUP = 'sameday';

/** Two servers of Redis with three sentinels, and HAProxy in front, which leads to the primary. */
export type Sentinels = FreshRedis & {
  /** Kills the primary. Resolves when the sentinels made the other server the primary, and HAProxy leads to it. */
  failOver(): Promise<void>;
};

type Server = { readonly host: string; readonly port: number; readonly folder: string; process: ChildProcess };

/** Starts them; resolves when the primary has its replica and the sentinels know of both. */
export async function openSentinels(): Promise<Sentinels> {
  const folder = mkdtempSync(join(tmpdir(), 'sameday-sentinels-'));
  const program = findRedisServer() as string;
  const others: ChildProcess[] = [];
  const servers: Server[] = [];
  const launch = (...args: string[]): ChildProcess => run(program, args);
  /** A server that comes back follows the other one from its start: sentinels turn it only after some seconds. */
  const open = (server: Omit<Server, 'process'>, of?: Server): ChildProcess =>
    launch(...serverArguments(server), ...(of === undefined ? [] : ['--replicaof', of.host, String(of.port)]));
  const stop = async (): Promise<void> => {
    await Promise.all([...others, ...servers.map((server) => server.process)].map(ended));
    removeFolder(folder);
  };
  try {
    // Linux has all of 127.0.0.0/8: HAProxy tells the servers apart by their addresses.
    for (const host of ['127.0.0.2', '127.0.0.3']) {
      const server = { host, port: await freePort(), folder: join(folder, host) };
      mkdirSync(server.folder);
      servers.push({ ...server, process: open(server, servers[0]) });
    }
    const [first, second] = servers as [Server, Server];
    const guards: number[] = [];
    for (let i = 1; i <= SENTINELS; i++) {
      const port = await freePort();
      const conf = join(folder, `sentinel${i}.conf`);
      writeFileSync(conf, sentinelSettings(port, folder, first));
      others.push(launch(conf, '--sentinel'));
      guards.push(port);
    }
    const door = await freePort();
    const conf = join(folder, 'haproxy.cfg');
    writeFileSync(conf, haproxySettings(door, [first, second], guards));
    others.push(run('haproxy', ['-db', '-q', '-f', conf]));
    const url = `redis://127.0.0.1:${door}`;
    const isWhole = async (primary: number): Promise<boolean> =>
      guards.length === (await Promise.all(guards.map((port) => seesReplica(port, primary)))).filter(Boolean).length &&
      (await leadsTo(url, primary));
    let [primary, replica] = [first, second];
    await until('the sentinels know of both servers', () => isWhole(primary.port));
    return {
      url,
      prefix: GROUP,
      async failOver() {
        await ended(primary.process);
        await until('HAProxy leads to the other server', () => leadsTo(url, replica.port));
        [primary, replica] = [replica, primary];
        replica.process = open(replica, primary);
        await until('the server that was killed is a replica', () => isWhole(primary.port));
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Whether a sentinel takes this server for the primary, with a replica that is up. */
async function seesReplica(sentinel: number, primary: number): Promise<boolean> {
  const [, port] = (await asked(sentinel, 'get-master-addr-by-name')) as string[];
  if (Number(port) !== primary) return false;
  const replicas = (await asked(sentinel, 'replicas')) as string[][];
  return replicas.some((fields) => {
    const flags = fields[fields.indexOf('flags') + 1] ?? '';
    return fields[fields.indexOf('master-link-status') + 1] === 'ok' && !/down|disconnected/.test(flags);
  });
}

async function leadsTo(url: string, primary: number): Promise<boolean> {
  const said = await withRedis(url, (redis) => redis.config('GET', 'port'));
  return Array.isArray(said) && Number(said[1]) === primary;
}

const asked = async (sentinel: number, what: string): Promise<unknown[]> => {
  const said = await withRedis(`redis://127.0.0.1:${sentinel}`, (redis) => redis.call('SENTINEL', what, GROUP));
  return Array.isArray(said) ? said : [];
};

/** What a server answers; undefined where it does not. */
async function withRedis<Answer>(url: string, ask: (redis: Redis) => Promise<Answer>): Promise<Answer | undefined> {
  const redis = new Redis(url, { retryStrategy: () => null, connectTimeout: 1_000, commandTimeout: 1_000 });
  redis.on('error', () => undefined);
  try {
    return await ask(redis);
  } catch {
    return undefined;
  } finally {
    redis.disconnect();
  }
}

/** Starts a program, which ends with this process at the latest. */
function run(program: string, args: readonly string[]): ChildProcess {
  const env = { PATH: `${process.env.PATH}:/usr/sbin` };
  const child = spawn(program, args, { stdio: 'ignore', env });
  const endWithRun = (): void => void child.kill('SIGKILL');
  process.once('exit', endWithRun);
  child.once('exit', () => process.off('exit', endWithRun));
  return child;
}

function serverArguments({ host, port, folder }: Omit<Server, 'process'>): string[] {
  const settings = {
    port: String(port),
    bind: host,
    // A replica is known by the address from which it connects, which here is that of the whole machine.
    'replica-announce-ip': host,
    'protected-mode': 'no',
    dir: folder,
    save: '',
    appendonly: 'yes',
    appendfsync: 'no',
    'maxmemory-policy': 'noeviction',
    'repl-diskless-sync-delay': '0',
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
}

function sentinelSettings(port: number, folder: string, primary: Server): string {
  return deployFile('sentinel.conf', {
    'monitor sameday 10.0.0.1 6379': `monitor sameday ${primary.host} ${primary.port}`,
    'port 26379': `port ${port}`,
    'bind 10.0.0.1': 'bind 127.0.0.1',
    '/var/lib/redis': folder,
  });
}

function haproxySettings(door: number, servers: readonly Server[], sentinels: readonly number[]): string {
  const guards = sentinels.map((port, i) => [`10.0.0.${i + 1}:26379`, `127.0.0.1:${port}`]);
  const led = servers.flatMap(({ host, port }, i) => [
    [`10.0.0.${i + 1}:6379`, `${host}:${port}`],
    [`\\n10.0.0.${i + 1}\\r`, `\\n${host}\\r`],
  ]);
  const changes = [['127.0.0.1:6379', `127.0.0.1:${door}`], ...guards, ...led];
  return deployFile('haproxy-redis.cfg', Object.fromEntries(changes));
}
