/** The result of a load; latencies in milliseconds are those of orders answered with 201. */
export type LoadResult = {
  readonly perSecond: number;
  readonly min: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly mean: number;
  readonly deviation: number;
  readonly orderIds: readonly string[];
  /** Every latency, in the order of the answers. */
  readonly millis: readonly number[];
  /** Requests answered with anything but 201, or not at all. */
  readonly failed: number;
  /** Errors, time-outs and statuses other than 201; any of them invalidates the run. */
  readonly faults: readonly string[];
};
