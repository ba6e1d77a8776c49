import { type ChildProcess, spawn } from 'node:child_process';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { endProcess } from './stop-all.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const READY_MS = 120_000;

export type Part = {
  readonly pid: number;
  /** The line that it printed when it was ready. */
  readonly said: string;
  stop(): Promise<void>;
};

/**
 * Builds a file of bench/ and runs it in a process of its own; resolves when it prints a line that begins
 * with `ready`.
 */
export async function startPart(source: string, env: Readonly<Record<string, string>>): Promise<Part> {
  const name = basename(source, '.ts');
  const outfile = join(ROOT, `dist/bench/${name}.mjs`);
  await build({
    absWorkingDir: ROOT,
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'warning',
  });
  const child = spawn(process.execPath, [outfile], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const killWithRun = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithRun);
  child.once('exit', () => process.off('exit', killWithRun));
  const said = await readyLine(child, name);
  return { pid: child.pid as number, said, stop: () => endProcess(child, () => child.kill('SIGTERM')) };
}

function readyLine(child: ChildProcess, name: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (why: string): void => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Error(`${name} ${why}: ${output.slice(-1_000)}`));
    };
    const timer = setTimeout(() => fail('was not ready in time'), READY_MS);
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code, signal) => fail(`ended with ${code ?? signal}`));
    child.stdout?.on('data', (chunk: Buffer) => {
      output = (output + String(chunk)).slice(-10_000);
      const line = /^(ready.*)\n/m.exec(output)?.[1];
      if (line === undefined) return;
      clearTimeout(timer);
      resolve(line);
    });
  });
}
