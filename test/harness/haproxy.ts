import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deployFile } from './deploy-file.ts';
import { startForeground } from './foreground.ts';
import { freePort } from './free-port.ts';
import { findProgram } from './programs.ts';

export const findHaproxy = (): string | undefined => findProgram(['haproxy']);

/** Whether tests that need HAProxy can run. */
export const hasHaproxy = (): boolean => findHaproxy() !== undefined;

/** The HAProxy of deploy/haproxy.cfg before two processes on these ports, over plain HTTP. */
export async function startHaproxy(dir: string, [a, b]: readonly [number, number]) {
  const [port, redirects] = [await freePort(), await freePort()];
  const file = join(dir, 'haproxy.cfg');
  const text = deployFile('haproxy.cfg', {
    'bind :80': `bind 127.0.0.1:${redirects}`,
    'bind :443 ssl crt /etc/haproxy/sameday.pem alpn http/1.1': `bind 127.0.0.1:${port}`,
    // Of which two files each may be too many here.
    'maxconn 30000': 'maxconn 4000',
    // Only root can change to another user.
    'user haproxy': '',
    'group haproxy': '',
  });
  writeFileSync(file, text);
  // In the foreground, so that it ends with its signal.
  const { stop } = await startForeground(findHaproxy() ?? 'haproxy', ['-db', '-f', file], port, {
    env: { ...process.env, API_A: `127.0.0.1:${a}`, API_B: `127.0.0.1:${b}` },
  });
  return { url: `http://127.0.0.1:${port}`, stop };
}
