import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { removeFolder } from './folders.ts';
import { STEP_MS } from './patience.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export type Running = {
  /** The URL of the built service. */
  readonly url: string;
  readonly dataDir: string;
  readonly pid: number;
  /** Its output so far, of both streams. */
  output(): string;
  /** Sends the signal and waits for the end; returns the exit code, or the signal's name. */
  stop(signal?: NodeJS.Signals): Promise<number | string>;
};

export type Environment = Record<string, string>;

/** A sandbox on a free port, without simulated drivers and waits. */
export const SANDBOX_ENV: Environment = {
  SANDBOX: '1',
  PORT: '0',
  SIMULATED_DRIVERS: '0',
  SMS_DELAY_SECONDS: '0',
  // The longest, so that a slow machine's replies say what became of the charge, too.
  PAYMENT_WAIT_MS: '10000',
};

/** Makes a folder for a service's data, which the disposer removes. */
export function newDataDir(): { readonly dataDir: string; remove(): void } {
  const dataDir = mkdtempSync(join(tmpdir(), 'sameday-data-'));
  return { dataDir, remove: () => removeFolder(dataDir) };
}

/**
 * Starts the built service (`dist/main.js`) as a process. By default it runs in the sandbox on the given
 * database, on a free port and without simulated drivers; `env` overrides this. Rejects with its output if it
 * ends before it is ready.
 *
 * @param root the folder of the version to start; by default this one
 */
export function startBuiltService(env: Environment, root: string = ROOT): Promise<Running> {
  const child = spawn(process.execPath, [join(root, 'dist/main.js')], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      ...SANDBOX_ENV,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const killWithRun = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithRun);
  child.once('exit', () => process.off('exit', killWithRun));
  return readyService(child, env.DATA_DIR ?? '');
}

function readyService(child: ChildProcess, dataDir: string): Promise<Running> {
  let output = '';
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail('was not ready in time'), STEP_MS);
    const fail = (why: string) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Error(`The service ${why}:\n${output}`));
    };
    const hear = (chunk: Buffer) => {
      output += String(chunk);
      const ready = /Sameday is ready(?: at (\S+))? \(/.exec(output);
      if (!ready) return;
      clearTimeout(timer);
      const url = ready[1] ?? '';
      const stop = (signal: NodeJS.Signals = 'SIGTERM') => stopProcess(child, signal);
      resolve({ url, dataDir, pid: child.pid ?? 0, output: () => output, stop });
    };
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    child.once('exit', (code, signal) => fail(`ended with ${code ?? signal}`));
  });
}

function stopProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<number | string> {
  if (child.exitCode !== null || child.signalCode !== null) {
    return Promise.resolve(child.exitCode ?? child.signalCode ?? 0);
  }
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error('The service did not stop in time'));
    }, STEP_MS);
    child.once('exit', (code, by) => {
      clearTimeout(timer);
      resolve(code ?? by ?? 0);
    });
    child.kill(signal);
  });
}

/** Runs a command of the built command line with `--json`, in a process; rejects with its output if it fails. */
export function runBuiltCli<Result = Record<string, string>>(env: Environment, ...args: string[]): Promise<Result> {
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [join(ROOT, 'dist/cli.js'), ...args, '--json'],
      { cwd: ROOT, env: { PATH: process.env.PATH, ...env }, timeout: STEP_MS },
      (error, stdout, stderr) => {
        if (error) reject(new Error(`sameday ${args.join(' ')} exited with ${error.code}: ${stderr}`));
        else resolve(JSON.parse(stdout) as Result);
      },
    );
  });
}

/** Runs a command as a person does; returns what it prints. */
export function runCliAsText(env: Environment, ...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const options = { cwd: ROOT, env: { PATH: process.env.PATH, ...env }, timeout: STEP_MS };
  return promisify(execFile)(process.execPath, [join(ROOT, 'dist/cli.js'), ...args], options);
}

/** A complete valid body of `POST /orders/create`, with changes. */
export function orderBody(retailerId: string, changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    retailer_id: retailerId,
    customer: { name: 'Jordan Lee', email: 'jordan@example.com', phone: '+14155550123', sms_opt_in: true },
    pickup_address: '2000 Mission St, San Francisco, CA 94110',
    dropoff_address: { line1: '401 Valencia St', city: 'San Francisco', state: 'CA', zip: '94103' },
    ...changes,
  };
}
