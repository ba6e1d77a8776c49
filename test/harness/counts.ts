/** Set by `npm run test:all` for the second of its parts: properties run at their full counts. */
export const isFull = process.env.FULL_COUNTS === '1';

/**
 * How often a property or a random day runs: what finds a plain mistake in `npm test`, all of it in
 * `npm run test:all`, which runs every file that imports this once more.
 */
export const runs = (daily: number, full: number): number => (isFull ? full : daily);
