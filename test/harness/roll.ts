import { type ChildProcess, execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { RUN_MS } from './patience.ts';

const SCRIPT = fileURLToPath(new URL('../../deploy/roll.sh', import.meta.url));

export type Rolled = { readonly code: number; readonly stdout: string; readonly stderr: string };

/**
 * Makes deploy/roll.sh run in this test: it starts and stops a unit by asking a server here, which calls `act`. A unit
 * whose `act` rejects could not be started or stopped.
 */
export async function openRollScript(act: (what: 'start' | 'stop', unit: string) => Promise<void>) {
  const server = createServer((request, reply) => {
    text(request)
      .then((unit) => act(request.url === '/start' ? 'start' : 'stop', unit))
      .then(() => reply.end())
      .catch((error: unknown) => reply.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const ask = `curl -sS --fail-with-body -m 600 http://127.0.0.1:${port}`;
  // The Node that runs this.
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
  let child: ChildProcess | undefined;
  return {
    run: (build: string, settings: Readonly<Record<string, string>>): Promise<Rolled> =>
      new Promise((resolve) => {
        const env = { PATH, START: `${ask}/start -d`, STOP: `${ask}/stop -d`, ...settings };
        // A group of its own, as in a terminal, whose signals reach what the script waits for, too.
        child = execFile('setsid', [SCRIPT, build], { env, timeout: RUN_MS }, (error, stdout, stderr) => {
          resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr });
        });
      }),
    /** Signals the script as its terminal does. */
    signal: (name: NodeJS.Signals) => process.kill(-(child?.pid ?? Number.NaN), name),
    close: (): void => void server.close(),
  };
}
