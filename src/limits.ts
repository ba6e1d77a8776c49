/**
 * Every bound of the service, with its unit and its reason. What a person may set is in `config.ts`; what stands here
 * is part of how the service works. The README lists the same figures.
 */

// --- HTTP ---------------------------------------------------------------------------------------------------------
/** Largest JSON body in bytes; a full order with long names is under 4 KiB. */
export const MAX_JSON_BYTES = 64 * 1024;
/** Largest photo upload in bytes; phones make 3 to 8 MB. */
export const MAX_PHOTO_BYTES = 10 * 1024 * 1024;
/** Most pixels a photo may have once decoded; 24 megapixels is 72 MB of memory. */
export const MAX_PHOTO_PIXELS = 24_000_000;
/** Longest a request may take before it is answered with 503 or 504. */
export const REQUEST_DEADLINE_MS = 15_000;

// --- Database -----------------------------------------------------------------------------------------------------
/** A statement that has not answered by then is given up: 503, or 504 where its outcome is unknown. */
export const QUERY_DEADLINE_MS = 5_000;
/** The server itself ends a statement then, so that its outcome is told and not guessed; below QUERY_DEADLINE_MS. */
export const STATEMENT_TIMEOUT_MS = 4_500;
/** A connection that owes an answer for so long beyond its statement time-out is taken for dead. */
export const DB_SILENCE_GRACE_MS = 2_000;
/** A connection that is not open and logged in by then is given up and tried again. */
export const DB_CONNECT_TIMEOUT_MS = 4_000;
/** A migration may rewrite a table; one statement of it may take so long. */
export const MIGRATION_STATEMENT_TIMEOUT_MS = 10 * 60_000;
/** A migration that cannot lock a table by then stops, before the statements queued behind it pile up. */
export const MIGRATION_LOCK_TIMEOUT_MS = 10_000;
/** How long a migrator waits for another one at work on the same database. */
export const MIGRATION_WAIT_MS = 60_000;
/** Connections of one process to Postgres. */
export const DB_CONNECTIONS = 10;
/** Most statements of one process waiting for an answer; one more is refused with 503. */
export const MAX_PENDING_QUERIES = 5_000;

// --- Group commit -------------------------------------------------------------------------------------------------
/** Most orders in one commit; above a few hundred a larger batch only adds latency. */
export const MAX_COMMIT_BATCH = 256;
/** Commits in flight at once: one writes while the next is prepared. */
export const MAX_COMMITS_IN_FLIGHT = 2;
/** Most orders waiting for a commit; one more is refused with 503. */
export const MAX_COMMIT_QUEUE = 10_000;
/** How often an order whose driver was lost to another process claims the next one before it waits. */
export const MAX_CLAIM_ATTEMPTS = 5;

// --- Matching -----------------------------------------------------------------------------------------------------
/** A driver whose last position is older than this is not given orders. */
export const POSITION_FRESH_MS = 90_000;
/** Most orders waiting for a driver, in all and for one store; beyond, 503 `queue_full`. */
export const MAX_WAITING_ORDERS = 100_000;
export const MAX_WAITING_ORDERS_PER_RETAILER = 10_000;
/** The net below the events: every waiting order is tried again this often. */
export const REDISPATCH_SWEEP_MS = 15_000;

// --- Drivers ------------------------------------------------------------------------------------------------------
/** Positions written to Postgres a second, coalesced to the last one of each driver. */
export const POSITION_ROWS_PER_SECOND = 2_000;

// --- Jobs ---------------------------------------------------------------------------------------------------------
/** How long a relayed job may take before the sweeper relays it again; longer than a job's own retries last. */
export const OUTBOX_LEASE_SECONDS = 15 * 60;
