import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { STEP_MS } from './patience.ts';

const POLL_MS = 20;

/** Starts a program that stays in the foreground, and resolves once it takes connections at the port. */
export async function startForeground(
  program: string,
  args: readonly string[],
  port: number,
  options: SpawnOptions = {},
): Promise<{ stop(): Promise<void> }> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr?.on('data', (chunk) => {
    output += String(chunk);
  });
  const killWithRun = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithRun);
  child.once('exit', () => process.off('exit', killWithRun));
  await untilTaken(port, child, () => output);
  return {
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
      throw new Error(`${child.spawnfile} did not start:\n${output()}`);
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
