import type { Sql } from 'postgres';
import { CLOCK_ROUND_TRIP_MS, CLOCK_SYNC_MS } from '../limits.ts';
import { errorFields, type Logger } from '../telemetry.ts';

/** Tells the time in milliseconds since 1970. */
export type Clock = { now(): number };

export type DatabaseClock = Clock & {
  close(): void;
};

/**
 * The database's clock read from memory: this process's own clock may be wrong by hours, and every time in the tables
 * is the database's. The difference is measured at start and every `CLOCK_SYNC_MS`, as half-way between asking and
 * hearing (Cristian's algorithm), so it is right to half a round trip; one that took too long for that, as when the process
 * stood still meanwhile, is left out.
 */
export async function createDatabaseClock(sql: Sql, logger: Logger): Promise<DatabaseClock> {
  const measure = async (): Promise<{ readonly offsetMs: number; readonly tookMs: number }> => {
    const asked = performance.now();
    const [row] = await sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`;
    const heard = performance.now();
    return { offsetMs: row?.ms - (asked + heard) / 2, tookMs: heard - asked };
  };
  let { offsetMs } = await measure();
  const timer = setInterval(() => {
    measure().then(
      (measured) => {
        if (measured.tookMs <= CLOCK_ROUND_TRIP_MS) ({ offsetMs } = measured);
      },
      (error) => logger.warn({ err: errorFields(error) }, "the database's clock could not be read"),
    );
  }, CLOCK_SYNC_MS);
  timer.unref();
  return { now: () => Math.round(performance.now() + offsetMs), close: () => clearInterval(timer) };
}
