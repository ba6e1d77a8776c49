import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import type { Report } from '../../test/harness/report.ts';
import type { Running } from '../../test/harness/service.ts';

const ANSWER_MS = 60_000;
const SHOWN = 25;
/** The environment of a service that is to be inspected. */
export const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' } as const;

type Frame = { readonly functionName: string; readonly url: string; readonly lineNumber: number };
type Profile = {
  readonly nodes: readonly { readonly id: number; readonly callFrame: Frame }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
};

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

/**
 * Samples where a service that was started with {@link INSPECTED} spends its time until the returned function
 * is called, which prints the functions with the most self time. It slows the service down.
 */
export async function profile(service: Running, name: string): Promise<(report: Report) => Promise<void>> {
  const inspector = await inspect(service);
  await inspector.ask('Profiler.enable');
  await inspector.ask('Profiler.start');
  return async (report) => {
    const { profile: taken } = await inspector.ask('Profiler.stop');
    inspector.close();
    const file = join(tmpdir(), `${name.replaceAll(/[^\w.]+/g, '-')}.cpuprofile`);
    writeFileSync(file, JSON.stringify(taken));
    report.note(`The whole profile: ${file}`);
    show(report, name, taken as Profile);
  };
}

function show(report: Report, name: string, { nodes, samples, timeDeltas }: Profile): void {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const selfMs = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const place = frames.get(id) ?? '?';
    selfMs.set(place, (selfMs.get(place) ?? 0) + (timeDeltas[index] ?? 0) / 1_000);
  }
  const idleMs = selfMs.get('(idle)') ?? 0;
  selfMs.delete('(idle)');
  const busyMs = [...selfMs.values()].reduce((sum, ms) => sum + ms, 0);
  const rows = [...selfMs].sort(([, a], [, b]) => b - a).slice(0, SHOWN);
  report.table(
    `Profile of the service: ${name}; busy ${Math.round(busyMs)} ms, idle ${Math.round(idleMs)} ms`,
    ['function', 'own time, ms', 'of the busy time, %'],
    rows.map(([place, ms]) => [place, ms, (ms / busyMs) * 100]),
  );
}

function nameOf({ functionName, url, lineNumber }: Frame): string {
  const place = url.replace(/^.*\/(dist|node_modules)\//, '');
  return place === '' ? functionName : `${functionName || '(anonymous)'} ${place}:${lineNumber + 1}`;
}
