import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSources, sourceAt } from '../../src/error-place.ts';

const OURS_OR_PACKAGE = /((?:node_modules|dist)\/.*)$/;
/**
 * Loaded into a process: profiles from SIGUSR2 on and writes the result when the process ends, as
 * `node --cpu-prof` does.
 */
const PROFILER = `
import { Session } from 'node:inspector';
import { writeFileSync } from 'node:fs';
const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.setSamplingInterval', { interval: 500 });
process.once('SIGUSR2', () => session.post('Profiler.start'));
process.once('exit', () => session.post('Profiler.stop', (_, seen) => {
  if (seen) writeFileSync(process.env.PROFILES + '/' + process.pid, JSON.stringify(seen.profile));
}));`;

type Frame = { readonly functionName: string; readonly url: string; readonly lineNumber: number };
type Node = { readonly id: number; readonly callFrame: Frame; readonly children?: readonly number[] };
type Profile = {
  readonly nodes: readonly Node[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
};

/** Busy microseconds of a process, most first. */
export type Spent = {
  readonly busyMicros: number;
  /** By package or folder, with what it calls of Node. */
  readonly byOwner: readonly (readonly [name: string, micros: number])[];
  /** Self time. */
  readonly byFunction: readonly (readonly [name: string, micros: number])[];
};

export type Profiler = {
  /** Settings for the processes to be profiled. */
  readonly env: Readonly<Record<string, string>>;
  start(pid: number): void;
  /** What a process spent from `start` to its end. */
  read(pid: number): Spent;
  remove(): void;
};

/** Profiles processes of the service, which slows them down. */
export function openProfiler(): Profiler {
  const folder = mkdtempSync(join(tmpdir(), 'sameday-profile-'));
  return {
    env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(PROFILER)}`, PROFILES: folder },
    start: (pid) => void process.kill(pid, 'SIGUSR2'),
    read(pid) {
      if (!readdirSync(folder).includes(String(pid))) throw new Error(`process ${pid} left no profile`);
      return spentOf(JSON.parse(readFileSync(join(folder, String(pid)), 'utf8')) as Profile);
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function spentOf(profile: Profile): Spent {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  );
  const owners = new Map(profile.nodes.map(({ id }) => [id, ownerOf(id, nodes, parents)]));
  const [byFunction, byOwner] = [new Map<string, number>(), new Map<string, number>()];
  let busyMicros = 0;
  for (const [i, id] of profile.samples.entries()) {
    const { callFrame } = nodes.get(id) as Node;
    const { functionName } = callFrame;
    if (functionName === '(idle)') continue;
    const micros = profile.timeDeltas[i] as number;
    busyMicros += micros;
    const owner = owners.get(id) as string;
    const name = `${functionName || '(anonymous)'}, ${placeOf(callFrame) ?? `called by ${owner}`}`;
    byFunction.set(name, (byFunction.get(name) ?? 0) + micros);
    byOwner.set(owner, (byOwner.get(owner) ?? 0) + micros);
  }
  const mostFirst = (times: Map<string, number>) => [...times].toSorted(([, a], [, b]) => b - a);
  return { busyMicros, byOwner: mostFirst(byOwner), byFunction: mostFirst(byFunction) };
}

/** Where a function is: its file and line, or its source where the service is a bundle; undefined for Node's own. */
function placeOf({ url, lineNumber }: Frame): string | undefined {
  const [, folder, file = ''] = /^file:\/\/(.*\/dist\/service)\/([^/]+)$/.exec(url) ?? [];
  const source = folder && sourceAt(sourcesIn(folder), file, lineNumber + 1);
  if (source) return source;
  const place = OURS_OR_PACKAGE.exec(url)?.[1];
  return place && `${place}:${lineNumber + 1}`;
}

const read = new Map<string, ReturnType<typeof readSources>>();

function sourcesIn(folder: string): ReturnType<typeof readSources> {
  const known = read.get(folder) ?? readSources(folder);
  read.set(folder, known);
  return known;
}

/** The package or folder that a function belongs to; for Node's and the engine's own, that of its caller. */
function ownerOf(id: number, nodes: ReadonlyMap<number, Node>, parents: ReadonlyMap<number, number>): string {
  for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
    const place = placeOf((nodes.get(at) as Node).callFrame);
    const [, owner] = /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(place ?? '') ?? [];
    if (owner) return owner;
    if (place) return place.split('/').slice(0, 2).join('/');
  }
  const { functionName = '' } = nodes.get(id)?.callFrame ?? {};
  return /^\((garbage|program)/.test(functionName) ? functionName : 'Node and the transport';
}
