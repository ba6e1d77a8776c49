import { WebSocket } from 'ws';
import type { Running } from '../../test/harness/service.ts';

const ANSWER_MS = 60_000;
/** The environment of a service that is to be inspected. */
export const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' } as const;

type Inspector = { ask(method: string): Promise<Record<string, unknown>>; close(): void };

async function inspect(service: Running): Promise<Inspector> {
  const url = /Debugger listening on (ws:\S+)/.exec(service.output())?.[1];
  if (!url) throw new Error('the service cannot be looked into');
  const socket = new WebSocket(url, { perMessageDeflate: false });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const answers = new Map<number, (result: Record<string, unknown>) => void>();
  socket.on('message', (data) => {
    const answer = JSON.parse(String(data)) as { id?: number; result?: Record<string, unknown> };
    answers.get(answer.id ?? 0)?.(answer.result ?? {});
  });
  let asked = 0;
  const ask = (method: string) =>
    new Promise<Record<string, unknown>>((resolve, reject) => {
      const id = ++asked;
      const late = setTimeout(() => reject(new Error(`no answer to ${method}`)), ANSWER_MS);
      answers.set(id, (result) => {
        clearTimeout(late);
        resolve(result);
      });
      socket.send(JSON.stringify({ id, method }));
    });
  return { ask, close: () => socket.terminate() };
}

/** Makes a service that was started with {@link INSPECTED} collect its garbage. */
export async function collectGarbage(service: Running): Promise<void> {
  const inspector = await inspect(service);
  await inspector.ask('HeapProfiler.collectGarbage');
  inspector.close();
}
