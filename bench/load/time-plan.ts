/** A part of the run with the seconds that it takes when all goes well. */
export type Planned = {
  readonly name: string;
  readonly seconds: number;
  /** Whether it measures, so that it may be shortened; others take what they take. */
  readonly measures: boolean;
};

/** Shortest share of its planned time for which a figure is measured, however late the run is. */
const LEAST_SHARE = 0.5;

/**
 * Shares the time that is left among the parts to come, so that a run on a slow machine ends in time too,
 * with shorter measurements.
 */
export class TimePlan {
  readonly #toCome: Planned[];
  readonly #endMs: number;
  readonly #now: () => number;

  /**
   * @param parts in the order in which they are taken
   * @param endMs when the last one should end, by the clock `now`
   */
  constructor(parts: readonly Planned[], endMs: number, now: () => number = () => performance.now()) {
    this.#toCome = [...parts];
    this.#endMs = endMs;
    this.#now = now;
  }

  /** Seconds for the next part, which is this one; parts before it that were not asked for are left out. */
  take(name: string): number {
    const at = this.#toCome.findIndex((part) => part.name === name);
    if (at < 0) throw new Error(`${name} is not planned`);
    const left = this.#toCome.slice(at);
    this.#toCome.splice(0, at + 1);
    const sum = (measures: boolean): number =>
      left.filter((part) => part.measures === measures).reduce((seconds, part) => seconds + part.seconds, 0);
    const [{ seconds, measures }] = left as [Planned];
    if (!measures) return seconds;
    const share = ((this.#endMs - this.#now()) / 1_000 - sum(false)) / sum(true);
    return seconds * Math.min(1, Math.max(LEAST_SHARE, share));
  }
}
