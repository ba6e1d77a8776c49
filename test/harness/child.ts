import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';

const ROOT = join(import.meta.dirname, '../..');

/** A Node process and its output so far, standard output by lines. */
export type Child = {
  readonly process: ChildProcess;
  readonly lines: string[];
  errors(): string;
  readonly ended: Promise<number | null>;
};

/** Bundles a program that imports from `src/`, so that plain Node can run it. `folder` is temporary. */
export function bundleProgram(folder: string, name: string, program: string): string {
  mkdirSync(folder, { recursive: true });
  const entry = join(folder, `${name}.ts`);
  writeFileSync(entry, program.replaceAll("'src/", `'${ROOT}/src/`));
  try {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const outfile = join(folder, `${name}.mjs`);
  buildSync({ entryPoints: [entry], outfile, bundle: true, platform: 'node', format: 'esm', packages: 'external' });
  return outfile;
}

export function runNode(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Child {
  const child = spawn(process.execPath, [file, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const lines: string[] = [];
  let rest = '';
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { process: child, lines, errors: () => errors, ended };
}
