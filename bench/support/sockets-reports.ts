/** Every so manieth report is followed up: by a ping behind it, whose answer says that it was taken, and by the parent. */
export const CHECK_EVERY = 100;
/** Every so manieth driver carries an order, so that a tracking page shows where the matcher believes the driver is. */
export const CARRIES_EVERY = 10;

/** Those who carry an order take turns. `count` counts the reports from 0, `round` those of one driver. */
export function isChecked(count: number, round: number): boolean {
  return count % CHECK_EVERY === (round * CARRIES_EVERY) % CHECK_EVERY;
}

/** Reports that have been taken: by which driver, which of their steps. */
export type Taken = { readonly drivers: number[]; readonly steps: number[] };
/**
 * So many reports of each driver from this step on. With a rate, that of each driver, all drivers take turns with one
 * report a write; without, each driver's reports are one write, as after a dead zone, and all follow as fast as they can.
 */
export type Sending = { readonly firstStep: number; readonly rounds: number; readonly perSecond: number | null };
export type Sent = {
  readonly reports: number;
  /** From the first write to the answer to the last followed-up report, one of the last hundred. */
  readonly tookMs: number;
  /** By how much this process was behind its plan at most. */
  readonly lateMs: number;
  readonly cpuMs: number;
  /** From a report's write to the answer of the ping behind it. */
  readonly answersMs: Float64Array;
};
