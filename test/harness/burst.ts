/** What came of a load; latencies of orders answered with 201, in milliseconds. */
export type LoadResult = {
  readonly perSecond: number;
  readonly min: number;
  readonly p50: number;
  readonly p99: number;
  readonly mean: number;
  readonly deviation: number;
  readonly orderIds: readonly string[];
  /** Errors, time-outs and statuses other than 201; any makes the run worthless. */
  readonly faults: readonly string[];
};
