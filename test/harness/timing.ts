/** Times of many runs of an operation in microseconds. */
export type Timing = {
  readonly min: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  readonly mean: number;
  readonly deviation: number;
};

const BLOCKS = 10;
/** Keeps each result, so that the compiler cannot omit a call. */
const sink: { last: unknown } = { last: undefined };

/** Times each call; `prepare` runs before each, untimed. The clock's own cost, about 0.05 µs, is included. */
export function timeEach(calls: number, run: (i: number) => unknown, prepare?: (i: number) => void): Timing {
  const micros = new Float64Array(calls);
  timeBlock(micros, 0, calls, run, prepare);
  return summary(micros);
}

/**
 * Times several alternatives in blocks that take turns, so that other load on the machine affects all
 * equally.
 */
export function timeInTurns<Name extends string>(
  calls: number,
  ways: Record<Name, (i: number) => unknown>,
  prepare?: (i: number) => void,
): Record<string, Timing> {
  const names = Object.keys(ways) as Name[];
  const micros = new Map(names.map((name) => [name, new Float64Array(calls)]));
  const block = Math.ceil(calls / BLOCKS);
  // Untimed first, so that each is compiled.
  for (const name of names) timeBlock(new Float64Array(calls), 0, Math.min(calls, 2 * block), ways[name], prepare);
  for (let from = 0; from < calls; from += block) {
    const to = Math.min(calls, from + block);
    for (const name of names) timeBlock(micros.get(name) as Float64Array, from, to, ways[name], prepare);
  }
  return Object.fromEntries(names.map((name) => [name, summary(micros.get(name) as Float64Array)]));
}

function timeBlock(
  micros: Float64Array,
  from: number,
  to: number,
  run: (i: number) => unknown,
  prepare?: (i: number) => void,
): void {
  for (let i = from; i < to; i++) {
    prepare?.(i);
    const started = performance.now();
    sink.last = run(i);
    micros[i] = (performance.now() - started) * 1_000;
  }
}

/** Times each call, one after another. */
export async function timeEachAsync(calls: number, run: (i: number) => Promise<unknown>): Promise<Timing> {
  const micros = new Float64Array(calls);
  for (let i = 0; i < calls; i++) {
    const started = performance.now();
    sink.last = await run(i);
    micros[i] = (performance.now() - started) * 1_000;
  }
  return summary(micros);
}

export function summary(values: Float64Array): Timing {
  const sorted = values.slice().sort();
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  const variance = sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0) / sorted.length;
  return { min: at(0), p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1), mean, deviation: Math.sqrt(variance) };
}
