/** What is known of a member stands in one array for all, a cache line each. */
export const STATE_STRIDE = 8;
export const LAT = 0;
export const LNG = 1;
export const STAMP = 2;
/** The path of the member's place, or `UNKNOWN_PATH` until it is asked for. */
export const PATH = 3;
/** The tiers it serves as bits, `EVERY_BIT` among them; 0 while it is not in the index. */
export const TIERS = 4;
/** Its cell and where in the pool it stands. */
export const HOME = 5;
export const OFFSET = 6;

export const UNKNOWN_PATH = -1;
