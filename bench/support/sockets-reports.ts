/**
 * Interval of the followed reports: a ping behind each says by its answer that the report was accepted, and
 * the parent checks the position.
 */
export const CHECK_EVERY = 100;
/** Interval of the drivers with an order, whose tracking page shows the driver's position in the matcher. */
export const CARRIES_EVERY = 10;

/** Drivers with an order take turns. `count` counts the reports from 0, `round` those of one driver. */
export function isChecked(count: number, round: number): boolean {
  return count % CHECK_EVERY === (round * CARRIES_EVERY) % CHECK_EVERY;
}

/** Accepted reports: the driver and the step. */
export type Taken = { readonly drivers: number[]; readonly steps: number[] };
/**
 * A number of reports of each driver from a step on. With a rate, which is per driver, all drivers take turns
 * with one report a write; without, each driver's reports are one write, as after a dead zone, and all follow
 * as fast as possible.
 */
export type Sending = { readonly firstStep: number; readonly rounds: number; readonly perSecond: number | null };
export type Sent = {
  readonly reports: number;
  /** Time from the first write to the answer to the last followed report, one of the last hundred. */
  readonly tookMs: number;
  /** Largest delay of this process against its plan. */
  readonly lateMs: number;
  readonly cpuMs: number;
  /** Time from a report's write to the answer of the ping behind it. */
  readonly answersMs: Float64Array;
};
