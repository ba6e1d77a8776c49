import type { Sql } from 'postgres';
import { below, CLOCK_ROUND_TRIP_MS, LOSS_REPORT_MS } from '../limits.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';

/**
 * Interval at which the database's clock is read. Clocks drift by microseconds meanwhile, but a failover leads to a
 * server with another clock, and until then this process takes orders as due that are not, or the other way round.
 */
export const CLOCK_SYNC_MS = 2_000;

below({ CLOCK_ROUND_TRIP_MS }, { CLOCK_SYNC_MS });

/** The time in milliseconds since 1970. */
export type Clock = { now(): number };

export type DatabaseClock = Clock & {
  close(): void;
};

/**
 * Opens a copy of the database's clock, by which all times in the tables are set. The clock of this process
 * may be wrong by hours.
 *
 * The difference is measured at start and every CLOCK_SYNC_MS by Cristian's algorithm (Cristian 1989): the
 * database's time counts as that of the middle of the round trip, so the error is at most half a round trip. Two
 * measurements are left out: one whose round trip is longer than CLOCK_ROUND_TRIP_MS, as when the process was
 * suspended, and one that differs from what is known by no more than its own error.
 */
export async function createDatabaseClock(sql: Sql, logger: Logger): Promise<DatabaseClock> {
  const measure = async (): Promise<{ readonly offsetMs: number; readonly tookMs: number }> => {
    const sentMs = performance.now();
    const [row] = await sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`;
    const receivedMs = performance.now();
    return { offsetMs: row?.ms - (sentMs + receivedMs) / 2, tookMs: receivedMs - sentMs };
  };
  let { offsetMs } = await measure();
  const report = atMostEvery(LOSS_REPORT_MS, (error: unknown) =>
    logger.warn({ err: errorFields(error) }, "the database's clock could not be read"),
  );
  const timer = setInterval(() => {
    measure().then((measured) => {
      const isOther = Math.abs(measured.offsetMs - offsetMs) > measured.tookMs / 2;
      if (isOther && measured.tookMs <= CLOCK_ROUND_TRIP_MS) ({ offsetMs } = measured);
    }, report);
  }, CLOCK_SYNC_MS);
  timer.unref();
  return { now: () => Math.round(performance.now() + offsetMs), close: () => clearInterval(timer) };
}
