import { RELEASE_COUNTED_SECONDS, RELEASE_PAUSE_SECONDS } from '../limits.ts';
import type { Store } from '../store/store.ts';

/** The seconds that a driver has to wait before they may release another order; 0 for none. */
export type ReleaseBudget = (driverId: string) => Promise<number>;

/**
 * Bounds how many orders a driver releases, as each one that they see names a customer's street. The releases
 * themselves are counted, so that every process agrees and a restart forgets none.
 *
 * Reading before writing is enough: a driver holds one order at a time, so the order of a further release was
 * assigned after the release before it was written.
 *
 * @param perHour releases within an hour after which a driver has to wait; 0 for no bound
 */
export function createReleaseBudget(store: Pick<Store, 'findReleaseAges'>, perHour: number): ReleaseBudget {
  return async function secondsToWait(driverId) {
    if (perHour === 0) return 0;
    return pauseAfter(await store.findReleaseAges(driverId, RELEASE_COUNTED_SECONDS), perHour);
  };
}

/**
 * The rest of the pause after `perHour` releases within an hour: an hour from the last one, and twice as long
 * for each further `perHour` of them within RELEASE_COUNTED_SECONDS.
 *
 * @param ages seconds since each release of that time, the last one first
 */
export function pauseAfter(ages: readonly number[], perHour: number): number {
  const last = ages[0];
  const first = ages[perHour - 1];
  if (last === undefined || first === undefined || first - last >= RELEASE_PAUSE_SECONDS) return 0;
  const pause = RELEASE_PAUSE_SECONDS * 2 ** (Math.floor(ages.length / perHour) - 1);
  return Math.max(0, Math.ceil(pause - last));
}
