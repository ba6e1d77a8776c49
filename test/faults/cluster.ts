import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { connect } from '../../src/postgres/connect.ts';
import { deployFile } from '../harness/deploy-file.ts';
import { removeFolder } from '../harness/folders.ts';
import { freePort } from '../harness/free-port.ts';
import { STEP_MS } from '../harness/patience.ts';
import { findProgram } from '../harness/programs.ts';
import { lookUntil, until } from './later.ts';
import { openNetwork } from './network.ts';
import { processesOf, signal } from './postgres.ts';
import { ended } from './programs.ts';

/** Debian's Postgres, since the embedded one lacks pg_basebackup and pg_rewind. */
const SERVERS = '/usr/lib/postgresql';
const USER = 'postgres';
const NODES = 3;
/** Longest wait for an answer of Patroni. */
const ASK_MS = 1_000;
/** A node of the cluster: Patroni and its Postgres. */
export type ClusterNode = {
  readonly name: string;
  /** Where its Postgres listens, as `host:port`. */
  readonly at: string;
  /** The pids of its first processes: Patroni's, and that of Postgres where it runs. */
  firsts(): number[];
  /** Whether it is a primary that takes writes, by its own word. */
  isPrimary(): Promise<boolean>;
};

/** Three nodes of Postgres under Patroni with synchronous commits, with HAProxy in front. */
export type Cluster = {
  /** By HAProxy, which leads to the primary. */
  readonly url: string;
  /** With the three nodes as hosts, a standby first. */
  readonly urlOfHosts: () => Promise<string>;
  /** Waits for the primary, other than the given one. */
  primary(other?: ClusterNode): Promise<ClusterNode>;
  /** Waits until a node commits, for which it needs a synchronous standby. */
  untilCommits(node: ClusterNode): Promise<void>;
  /** Waits until the primary has two standbys, at least one of them synchronous. */
  untilWhole(): Promise<void>;
  /** Ends Postgres's first process of a node by SIGKILL; its other processes end with it. */
  kill(node: ClusterNode): void;
  /** Stops all processes of a node, and lets them go on. */
  freeze(node: ClusterNode): () => void;
  /** Takes a node off the network, where it has one of its own, and brings it back. */
  cut(node: ClusterNode): () => void;
  /** Makes another node the primary, on purpose. Resolves when Patroni says that it is done. */
  switchOver(from: ClusterNode): Promise<void>;
  /** What the programs have written. */
  log(): string;
  stop(): Promise<void>;
};

/** The programs that are missing here. */
export function missingForCluster(): string[] {
  const missing = ['patroni', 'etcd', 'haproxy', 'setpriv'].filter((name) => findProgram([name]) === undefined);
  if (findServer() === undefined) missing.push('postgresql');
  // Patroni runs as the user of Debian's Postgres, which takes a change of user.
  if (process.geteuid?.() !== 0) missing.push('root');
  return missing;
}

/**
 * What is missing to let a primary stand still for longer than `ttl`. When it goes on, a Patroni before 3.0.3 may put
 * itself back as the leader in etcd, whoever leads by then, and what was committed meanwhile is rewound
 * (`Etcd3._update_leader` of 3.0.2; patroni/patroni, pull requests 2690 and 2693).
 */
export function missingForPause(): string | undefined {
  const said = spawnSync(findProgram(['patroni']) ?? '', ['--version'], { encoding: 'utf8', timeout: STEP_MS }).stdout;
  const [major = 0, minor = 0, patch = 0] = said?.match(/\d+/g)?.map(Number) ?? [];
  const isFenced = major > 3 || (major === 3 && (minor > 0 || patch >= 3));
  return isFenced ? undefined : 'patroni 3.0.3';
}

/** The newest version's folder of programs. */
function findServer(): string | undefined {
  const versions = readdirIfAny(SERVERS).toSorted((a, b) => Number(b) - Number(a));
  return versions
    .map((version) => join(SERVERS, version, 'bin'))
    .find((bin) => readdirIfAny(bin).includes('pg_rewind'));
}

function readdirIfAny(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Starts the cluster; resolves when it is whole.
 *
 * @param isNetworked whether each node is behind a cable of its own, which can be cut
 */
export async function openCluster(isNetworked = false): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'sameday-cluster-'));
  const network = isNetworked ? openNetwork(NODES) : undefined;
  const children: ChildProcess[] = [];
  const nodes: ClusterNode[] = [];
  const start = (name: string, program: string, args: string[], how: How = {}): ChildProcess => {
    const child = run(folder, name, program, args, how);
    children.push(child);
    return child;
  };
  const stop = async (): Promise<void> => {
    // A frozen node must go on to end. Patroni goes first, as it would start its Postgres again.
    for (const node of nodes) for (const pid of processesOf(node.firsts())) signal(pid, 'SIGCONT');
    const postmasters = nodes.flatMap((node) => node.firsts().slice(1));
    await Promise.all(children.toReversed().map(ended));
    for (const pid of postmasters) signal(pid, 'SIGQUIT');
    await lookUntil(
      () => processesOf(postmasters),
      ({ length }) => length === 0,
      STEP_MS,
    );
    network?.close();
    removeFolder(folder);
  };
  try {
    const { uid, gid } = ownerOf(USER);
    chmodSync(folder, 0o755);
    chownSync(folder, uid, gid);
    const password = randomBytes(12).toString('hex');
    const [etcd, peers, door] = [await freePort(), await freePort(), await freePort()];
    const hub = network?.hub ?? '127.0.0.1';
    const etcdEnv = etcdSettings(join(folder, 'etcd.data'), `${hub}:${etcd}`, `${hub}:${peers}`);
    start('etcd', 'etcd', [], { env: etcdEnv });
    const places: Place[] = [];
    for (let i = 1; i <= NODES; i++) {
      const place = {
        name: `node${i}`,
        folder: join(folder, `node${i}`),
        host: network?.hosts[i - 1] ?? '127.0.0.1',
        port: await freePort(),
        rest: await freePort(),
      };
      mkdirSync(place.folder, { mode: 0o700 });
      writeFileSync(join(place.folder, 'patroni.yml'), patroniSettings(place, `${hub}:${etcd}`, password));
      chownSync(place.folder, uid, gid);
      places.push(place);
    }
    for (const [i, place] of places.entries()) {
      const patroni = start(place.name, 'patroni', [join(place.folder, 'patroni.yml')], { before: network?.within(i) });
      nodes.push(nodeOf(place, patroni));
    }
    const conf = join(folder, 'haproxy.cfg');
    writeFileSync(conf, haproxySettings(door, places));
    start('haproxy', 'haproxy', ['-db', '-q', '-f', conf]);
    const urlAt = (hosts: string): string => `postgres://postgres:${password}@${hosts}/postgres`;
    const cut = (node: ClusterNode): (() => void) => {
      if (!network) throw new Error('The nodes of this cluster have no network of their own');
      return network.cut(nodes.indexOf(node));
    };
    const cluster = { ...clusterOf(nodes, places, urlAt(`127.0.0.1:${door}`), urlAt), cut, stop };
    await cluster.untilWhole();
    return { ...cluster, log: () => readLogs(folder) };
  } catch (error) {
    console.error(readLogs(folder));
    await stop();
    throw error;
  }
}

type Place = {
  readonly name: string;
  readonly folder: string;
  readonly host: string;
  readonly port: number;
  /** The port of Patroni's API. */
  readonly rest: number;
};

function clusterOf(
  nodes: readonly ClusterNode[],
  places: readonly Place[],
  url: string,
  urlAt: (hosts: string) => string,
): Omit<Cluster, 'stop' | 'log' | 'cut'> {
  const primary = (other?: ClusterNode): Promise<ClusterNode> =>
    until('there is a primary', async () => {
      const rest = nodes.filter((node) => node !== other);
      const are = await Promise.all(rest.map((node) => node.isPrimary()));
      return rest[are.indexOf(true)];
    });
  return {
    url,
    async urlOfHosts() {
      const leader = await primary();
      const standbysFirst = nodes.toSorted((a, b) => Number(a === leader) - Number(b === leader));
      return urlAt(standbysFirst.map(({ at }) => at).join(','));
    },
    primary,
    async untilCommits({ at }) {
      const sql = connect({ url: urlAt(at), max: 1, applicationName: 'faults cluster' });
      const commit = () => sql`select pg_logical_emit_message(true, 'faults', '')`.catch(() => undefined);
      try {
        await until('the primary commits', commit);
      } finally {
        await sql.end({ timeout: 1 });
      }
    },
    untilWhole: () => untilWhole(places),
    kill: (node) => signal(node.firsts()[1] as number, 'SIGKILL'),
    freeze(node) {
      const all = processesOf(node.firsts());
      for (const pid of all) signal(pid, 'SIGSTOP');
      return () => {
        for (const pid of all) signal(pid, 'SIGCONT');
      };
    },
    async switchOver(from) {
      const place = places.find(({ name }) => name === from.name);
      const body = JSON.stringify({ leader: from.name });
      const asked = { method: 'POST', body, signal: AbortSignal.timeout(STEP_MS) };
      const answer = await fetch(`http://${place?.host}:${place?.rest}/switchover`, asked);
      if (!answer.ok) throw new Error(`Patroni does not switch over: ${answer.status} ${await answer.text()}`);
    },
  };
}

function nodeOf(place: Place, patroni: ChildProcess): ClusterNode {
  const { name, folder, host, port } = place;
  return {
    name,
    at: `${host}:${port}`,
    firsts: () => [patroni.pid as number, ...postmasterOf(folder)],
    isPrimary: async () => (await ask(place, 'primary')) !== undefined,
  };
}

function postmasterOf(folder: string): number[] {
  try {
    return [Number(readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0])];
  } catch {
    return [];
  }
}

/** By Patroni's word: only a synchronous standby that etcd knows of may follow a primary. */
async function untilWhole(places: readonly Place[]): Promise<void> {
  await until('the cluster is whole', async () => {
    for (const place of places) {
      const members = (await ask<{ members?: Member[] }>(place, 'cluster'))?.members ?? [];
      const standbys = members.filter(({ role, timeline, lag }) => role !== 'leader' && timeline && lag === 0);
      const leader = members.find(({ role }) => role === 'leader');
      const follow = standbys.filter(({ timeline }) => timeline === leader?.timeline);
      if (follow.length === NODES - 1 && follow.some(({ role }) => role === 'sync_standby')) return true;
    }
    return undefined;
  });
}

type Member = { readonly role: string; readonly timeline?: number; readonly lag?: number | string };

/** Asks Patroni; undefined where it gives no answer, or one of refusal. */
async function ask<Answer>({ host, rest }: Place, what: string): Promise<Answer | undefined> {
  try {
    const answer = await fetch(`http://${host}:${rest}/${what}`, { signal: AbortSignal.timeout(ASK_MS) });
    return answer.ok ? ((await answer.json()) as Answer) : undefined;
  } catch {
    return undefined;
  }
}

type How = { readonly before?: readonly string[] | undefined; readonly env?: Readonly<Record<string, string>> };

/** Starts a program as Postgres's user, by what comes before it. The kernel ends it with this process. */
function run(
  folder: string,
  name: string,
  program: string,
  args: string[],
  { before = [], env = {} }: How,
): ChildProcess {
  const log = openSync(join(folder, `${name}.log`), 'a');
  const user = ['--reuid', USER, '--regid', USER, '--init-groups', '--pdeathsig', 'TERM'];
  const [first = 'setpriv', ...rest] = [...before, 'setpriv', ...user, program, ...args];
  return spawn(first, rest, {
    cwd: '/',
    env: { PATH: `${process.env.PATH}:/usr/sbin`, LC_ALL: 'C.UTF-8', TZ: 'UTC', ...env },
    stdio: ['ignore', log, log],
  });
}

function ownerOf(user: string): { readonly uid: number; readonly gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`${user}:`));
  const [uid, gid] = line?.split(':').slice(2, 4).map(Number) ?? [];
  return { uid: uid ?? userInfo().uid, gid: gid ?? userInfo().gid };
}

function readLogs(folder: string): string {
  const names = readdirSync(folder).filter((name) => name.endsWith('.log'));
  return names.map((name) => `${name}:\n${readFileSync(join(folder, name), 'utf8')}`).join('\n');
}

/** The settings of deploy/patroni/etcd.env for an etcd alone. */
function etcdSettings(folder: string, at: string, peersAt: string): Record<string, string> {
  const text = deployFile('patroni/etcd.env', {
    '/var/lib/etcd/sameday': folder,
    ',db2=http://10.0.0.2:2380,db3=http://10.0.0.3:2380': '',
    '10.0.0.1:2379': at,
    '10.0.0.1:2380': peersAt,
  });
  return Object.fromEntries(Array.from(text.matchAll(/^(ETCD_\w+)=(.*)$/gm), ([, name, value]) => [name, value]));
}

function patroniSettings({ name, folder, host, port, rest }: Place, etcd: string, password: string): string {
  return deployFile('patroni/patroni.yml', {
    'name: db1': `name: ${name}`,
    '10.0.0.1:2379, 10.0.0.2:2379, 10.0.0.3:2379': etcd,
    '10.0.0.1:8008': `${host}:${rest}`,
    '10.0.0.1:5432': `${host}:${port}`,
    '/var/lib/postgresql/sameday.pgpass': join(folder, 'pgpass'),
    '/var/lib/postgresql/sameday': join(folder, 'data'),
    '/usr/lib/postgresql/17/bin': findServer() ?? '',
    '/var/run/postgresql': folder,
    'password: PASSWORD': `password: ${password}`,
  });
}

function haproxySettings(door: number, places: readonly Place[]): string {
  const servers = places.map(({ name, host, port, rest }, i) => [
    `server db${i + 1} 10.0.0.${i + 1}:5432 check port 8008`,
    `server ${name} ${host}:${port} check port ${rest}`,
  ]);
  return deployFile('haproxy-postgres.cfg', { '127.0.0.1:5000': `127.0.0.1:${door}`, ...Object.fromEntries(servers) });
}
