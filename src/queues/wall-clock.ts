import type { Clock } from '../postgres/clock.ts';

/** Lead of a machine's clock from which its queues delay no jobs, and the sweeper brings them back. */
const MAX_WALL_CLOCK_LEAD_MS = 2_000;

/**
 * Whether the clock of this machine is ahead of the database's. BullMQ delays a job by the clock of the
 * process that delays it, so such a job would wait until the clocks of the others show the same time.
 */
export function isWallClockAhead(clock: Clock): boolean {
  return Date.now() > clock.now() + MAX_WALL_CLOCK_LEAD_MS;
}
