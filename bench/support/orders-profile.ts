import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bench, BURST, check, sendBurst } from './orders-bench.ts';

const MOST_ROWS = 25;
const OURS_OR_PACKAGE = /((?:node_modules|dist)\/.*)$/;
/**
 * Loaded into the API: profiles from SIGUSR2 on and writes the result when the process ends, as
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
  if (seen) writeFileSync(process.env.PROFILE_FILE, JSON.stringify(seen.profile));
}));`;

type Frame = { readonly functionName: string; readonly url: string; readonly lineNumber: number };
type Profile = {
  readonly nodes: readonly { readonly id: number; readonly callFrame: Frame; readonly children?: readonly number[] }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
};

/**
 * Measures where the API spends its time in a burst, by function and by package; the profiler slows it down.
 */
export async function profileSection(bench: Bench): Promise<void> {
  const { stack, options, report } = bench;
  const folder = mkdtempSync(join(tmpdir(), 'sameday-profile-'));
  const file = join(folder, 'api.cpuprofile');
  const env = {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(PROFILER)}`,
    PROFILE_FILE: file,
  };
  const started = await stack.start({ ...BURST, env });
  const before = await sendBurst(bench, started, { seconds: options.warmUpSeconds });
  process.kill(started.apiPid, 'SIGUSR2');
  const earlier = started.cpu();
  const result = await sendBurst(bench, started, {});
  const later = started.cpu();
  await stack.halt();
  await check(bench, { ended: () => [] }, [before, result]);
  const perOrder = Object.entries(later).map(([part, seconds]) => {
    return [part, ((seconds - (earlier[part] as number)) * 1e6) / result.created];
  });
  report.table(
    `A burst of ${result.perSecond.toFixed(0)} orders/s: core-microseconds an order`,
    ['part', 'µs'],
    perOrder as [string, number][],
  );
  tell(bench, JSON.parse(readFileSync(file, 'utf8')) as Profile, result.created);
  rmSync(folder, { recursive: true, force: true });
}

function tell({ report }: Bench, profile: Profile, orders: number): void {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  );
  const owners = new Map(profile.nodes.map(({ id }) => [id, ownerOf(id, nodes, parents)]));
  const [byFunction, byOwner] = [new Map<string, number>(), new Map<string, number>()];
  let busy = 0;
  for (const [i, id] of profile.samples.entries()) {
    const { functionName, url, lineNumber } = (nodes.get(id) as Profile['nodes'][number]).callFrame;
    const micros = profile.timeDeltas[i] as number;
    if (functionName === '(idle)') continue;
    busy += micros;
    const owner = owners.get(id) as string;
    const place = OURS_OR_PACKAGE.exec(url)?.[1];
    const name = `${functionName || '(anonymous)'}, ${place ? `${place}:${lineNumber + 1}` : `called by ${owner}`}`;
    byFunction.set(name, (byFunction.get(name) ?? 0) + micros);
    byOwner.set(owner, (byOwner.get(owner) ?? 0) + micros);
  }
  const rows = (times: Map<string, number>) =>
    [...times]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, MOST_ROWS)
      .map(([name, micros]) => [name, `${((micros / busy) * 100).toFixed(1)} %`, micros / orders]);
  const head = ['', 'of busy time', 'µs an order'];
  report.table('The API by package or folder, with what it calls of Node', head, rows(byOwner));
  report.table('The API: self time by function', head, rows(byFunction));
}

/** The package or folder that a function belongs to; for Node's and the engine's own, that of its caller. */
function ownerOf(
  id: number,
  nodes: ReadonlyMap<number, Profile['nodes'][number]>,
  parents: ReadonlyMap<number, number>,
): string {
  for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
    const place = OURS_OR_PACKAGE.exec(nodes.get(at)?.callFrame.url ?? '')?.[1];
    const [, owner] = /^(?:node_modules\/((?:@[^/]+\/)?[^/]+)|(dist\/[^/]+))/.exec(place ?? '') ?? [];
    if (owner) return owner;
    if (place) return place.split('/').slice(0, 2).join('/');
  }
  const { functionName = '' } = nodes.get(id)?.callFrame ?? {};
  return /^\((garbage|program)/.test(functionName) ? functionName : 'Node and the transport';
}
