import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeFolder } from './folders.ts';
import { startForeground } from './foreground.ts';
import { freePort } from './free-port.ts';
import { findProgram } from './programs.ts';

/** Anybody but root, whom PgBouncer refuses to run as. */
const NOBODY = { uid: 65_534, gid: 65_534 };

const findPgbouncer = (): string | undefined => findProgram(['pgbouncer']);

/** Whether tests that need PgBouncer can run. */
export const hasPgbouncer = (): boolean => findPgbouncer() !== undefined;

/** A PgBouncer with the settings of docs/deploy.md, in front of the server of this URL. */
export async function startPgbouncer(target: string): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const { hostname, port: serverPort, username, password } = new URL(target);
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), 'sameday-pgbouncer-'));
  chmodSync(dir, 0o755);
  const [file, users] = [join(dir, 'pgbouncer.ini'), join(dir, 'userlist.txt')];
  writeFileSync(users, `"${username}" "${password}"\n`);
  writeFileSync(
    file,
    `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = session
ignore_startup_parameters = statement_timeout,enable_seqscan,jit
default_pool_size = 50
`,
  );
  for (const each of [file, users]) chmodSync(each, 0o644);
  const user = process.geteuid?.() === 0 ? NOBODY : {};
  const { stop } = await startForeground(findPgbouncer() ?? 'pgbouncer', [file], port, user);
  return {
    url: Object.assign(new URL(target), { port: String(port) }).href,
    async stop() {
      await stop();
      removeFolder(dir);
    },
  };
}
