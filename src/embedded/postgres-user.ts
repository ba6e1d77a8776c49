import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { PROCESS_TOOL_MS } from './processes.ts';

/** Pause between two such attempts. */
export const POSTGRES_RETRY_PAUSE_MS = 100;
/** Most attempts to make the user of the embedded Postgres. A user is made in 0.1 s, one after the other. */
const POSTGRES_USER_TRIES = 50;

export type UnixUser = { readonly uid: number; readonly gid: number };

/** The system user of clusters that root starts, since Postgres refuses to run as root. */
const NAME = 'sameday-postgres';
/** `nobody` on every Linux: other services run as it too, so it is the last choice. */
const NOBODY: UnixUser = { uid: 65534, gid: 65534 };

/**
 * The user that a new cluster of root belongs to, which is made where it is missing. Needs root.
 *
 * @returns `nobody` where no user can be made, which `log` says
 */
export async function clusterUser(log: (line: string) => void): Promise<UnixUser> {
  // Another process that makes a user at this moment holds the lock of /etc/passwd.
  for (let tries = 0; tries < POSTGRES_USER_TRIES; tries++) {
    const user = find();
    if (user !== undefined) return user;
    if (make() === 'no tool') break;
    await sleep(POSTGRES_RETRY_PAUSE_MS);
  }
  const user = find();
  if (user === undefined) log(`The user ${NAME} cannot be made, so Postgres runs as nobody`);
  return user ?? NOBODY;
}

function find(): UnixUser | undefined {
  const [uid, gid] = ['-u', '-g'].map((part) => spawnSync('id', [part, NAME], OPTIONS).stdout);
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined;
}

function make(): 'tried' | 'no tool' {
  const place = ['--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin'];
  const { error } = spawnSync('useradd', ['--system', '--user-group', ...place, NAME], OPTIONS);
  return error === undefined ? 'tried' : 'no tool';
}

const OPTIONS = {
  encoding: 'utf8',
  timeout: PROCESS_TOOL_MS,
  env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
} as const;
