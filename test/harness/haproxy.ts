import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { deployFile } from './deploy-file.ts';
import { freePort } from './free-port.ts';
import { STEP_MS } from './patience.ts';
import { findProgram } from './programs.ts';

const POLL_MS = 20;

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
    '127.0.0.1:8081': `127.0.0.1:${a}`,
    '127.0.0.1:8082': `127.0.0.1:${b}`,
    // Of which two files each may be too many here.
    'maxconn 30000': 'maxconn 4000',
    // Only root can change to another user.
    'user haproxy': '',
    'group haproxy': '',
  });
  writeFileSync(file, text);
  // In the foreground, so that it ends with its signal.
  const child = spawn(findHaproxy() ?? 'haproxy', ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.on('data', (chunk) => {
    output += String(chunk);
  });
  const killWithRun = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithRun);
  child.once('exit', () => process.off('exit', killWithRun));
  await untilTaken(port, child, () => output);
  return {
    url: `http://127.0.0.1:${port}`,
    async stop(): Promise<void> {
      const ended = child.exitCode !== null || child.signalCode !== null ? null : once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function untilTaken(port: number, child: ChildProcess, output: () => string): Promise<void> {
  const untilMs = performance.now() + STEP_MS;
  while (!(await takes(port))) {
    if (child.exitCode !== null || performance.now() > untilMs) {
      child.kill('SIGKILL');
      throw new Error(`HAProxy did not start:\n${output()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function takes(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
