/**
 * Longest waits of tests, each above what is awaited within it. None judges how fast a machine is: a wait that
 * ends by one of them has hung.
 */

/** For what becomes true by itself, as `expect.poll` awaits it. */
export const POLL_MS = 90_000;
/** From one look of `expect.poll` to the next, which may cost a request, a statement, or a question to a page. */
export const LOOK_MS = 100;
/** For one request, one command, or a process to be ready or to have ended. */
export const STEP_MS = 120_000;
/** For a whole test or hook. */
export const TEST_MS = 300_000;
/** For one random day of the model; a whole one takes some seconds. */
export const DAY_MS = 120_000;
/** For a benchmark, a load or a row of faults, which runs processes of its own. */
export const RUN_MS = 900_000;
