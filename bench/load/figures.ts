import type { LoadResult } from '../../test/harness/burst.ts';
import type { OrderRequest } from '../../test/harness/order-world.ts';
import { pace } from '../../test/harness/paced.ts';
import { type Loaded, load, NOTHING_ANSWERED } from '../support/load.ts';

/** Latencies of orders answered with 201, in milliseconds; failed requests are those that were not. */
type Answers = {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  readonly created: number;
  readonly failed: number;
  /** Length of the measurement. */
  readonly seconds: number;
  /** Share of one core that the load itself used, which is one thread. */
  readonly loadCore: number;
};

/** A rate over a number of connections; each sends its next order when the last one is answered. */
export type RateFigure = Answers & {
  readonly connections: number;
  readonly perSecond: number;
  /** Orders answered with 201 in each whole second. */
  readonly bySecond: readonly number[];
  /** Share of all orders so far that got a driver; unknown for a service of one's own. */
  readonly withDriver?: number;
};

/** Latencies at a given rate, each from when its order was due. */
export type LatencyFigure = Answers & {
  readonly share: number;
  /** Orders due a second. */
  readonly duePerSecond: number;
  readonly perSecond: number;
};

/** Core-milliseconds an order by part; `jobs` are those done meanwhile, an order. */
export type CostFigure = {
  readonly load: string;
  readonly millis: Readonly<Record<string, number>>;
  readonly jobs: number;
  /** Share of the machine's processor time that other programs used. */
  readonly others: number;
};

/** Another service over the same number of connections; one that was left out has a reason instead. */
export type PeerFigure = {
  readonly name: string;
  readonly rate?: RateFigure;
  /** Our rate over its rate, over the same connections. */
  readonly oursIs?: number;
  readonly leftOut?: string;
};

export type Figures = {
  /** What was measured where, sentence by sentence. */
  readonly conditions: readonly string[];
  readonly rates: readonly RateFigure[];
  readonly latencies: readonly LatencyFigure[];
  readonly costs: readonly CostFigure[];
  readonly peers: readonly PeerFigure[];
  /** Jobs owed after the last reply, and those of them still owed when the run stopped waiting. */
  readonly jobs?: { readonly owed: number; readonly leftOver: number; readonly waitedSeconds: number };
  /** Anything that invalidates the run. */
  readonly faults: readonly string[];
};

/** Latencies in milliseconds of one rate, for the plot. */
export type Curve = { readonly name: string; readonly millis: readonly number[] };

/** What is loaded with what. */
export type Target = { readonly urls: readonly string[]; readonly orders: readonly OrderRequest[] };

/** What every part of a run shares. */
export type Run = {
  readonly signal: AbortSignal;
  say(text: string): void;
  /** Adds faults of the run, equal ones once with their number. */
  blame(what: string, faults: readonly string[]): void;
};

/** Shares of the best rate at which latencies are measured. */
export const SHARES: readonly number[] = [0.5, 0.8];
export const nameOfShare = (share: number): string => (share === 0.5 ? 'half' : 'four fifths');

export async function measureRate(
  run: Run,
  { urls, orders }: Target,
  connections: number,
  seconds: number,
): Promise<{ readonly figure: RateFigure; readonly result: Loaded }> {
  run.say(`${plural(connections, 'connection')}, ${seconds.toFixed(1)} s`);
  const loadCore = watchLoad();
  const result = await load({ url: urls, orders, connections, seconds, keyed: true, signal: run.signal });
  const { perSecond, bySecond } = result;
  return { result, figure: { connections, perSecond, bySecond, ...answersOf(result, seconds, loadCore()) } };
}

export async function measureLatency(
  run: Run,
  { urls, orders }: Target,
  best: number,
  share: number,
  seconds: number,
): Promise<{ readonly figure: LatencyFigure; readonly result: LoadResult }> {
  const duePerSecond = best * share;
  run.say(`${duePerSecond.toFixed(0)} orders/s, ${nameOfShare(share)} of the best rate, ${seconds.toFixed(1)} s`);
  const loadCore = watchLoad();
  const result = await pace({ url: urls, orders, perSecond: duePerSecond, seconds, keyed: true, signal: run.signal });
  run.signal.throwIfAborted();
  const { perSecond } = result;
  return { result, figure: { share, duePerSecond, perSecond, ...answersOf(result, seconds, loadCore()) } };
}

function answersOf({ p50, p99, p999, millis, failed }: LoadResult, seconds: number, loadCore: number): Answers {
  const max = millis.reduce((most, ms) => Math.max(most, ms), 0);
  return { p50, p99, p999, max, created: millis.length, failed, seconds, loadCore };
}

/** The share of a core that this process uses from now on, asked at the end. */
function watchLoad(): () => number {
  const [before, fromMs] = [process.cpuUsage(), performance.now()];
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000 / (performance.now() - fromMs);
  };
}

/** The figure with the highest rate. */
export function bestOf(rates: readonly RateFigure[]): RateFigure {
  return rates.reduce((best, rate) => (rate.perSecond > best.perSecond ? rate : best));
}

/** Equal sentences once, with their number where it is more than one. */
export function counted(sentences: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const each of sentences) counts.set(each, (counts.get(each) ?? 0) + 1);
  return [...counts].map(([each, count]) => (count > 1 ? `${count} times: ${each}` : each));
}

export const plural = (count: number, noun: string): string =>
  `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;

/** What went wrong in a warm-up, which may be over on a busy machine before anything is answered. */
export const warmUpFaults = ({ faults }: Pick<LoadResult, 'faults'>): string[] =>
  faults.filter((fault) => fault !== NOTHING_ANSWERED);
