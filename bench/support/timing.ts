/** What many runs of one operation took, in microseconds. */
export type Timing = {
  readonly min: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly mean: number;
  readonly deviation: number;
};

/** Times each call by itself; `prepare` runs before each, untimed. The clock's own cost (about 0.05 µs) is left in. */
export function timeEach(calls: number, run: (i: number) => unknown, prepare?: (i: number) => void): Timing {
  const micros = new Float64Array(calls);
  for (let i = 0; i < calls; i++) {
    prepare?.(i);
    const started = performance.now();
    run(i);
    micros[i] = (performance.now() - started) * 1_000;
  }
  return summary(micros);
}

export function summary(values: Float64Array): Timing {
  const sorted = values.slice().sort();
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  const variance = sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0) / sorted.length;
  return { min: at(0), p50: at(0.5), p99: at(0.99), max: at(1), mean, deviation: Math.sqrt(variance) };
}
