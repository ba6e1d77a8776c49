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
/** How long an unknown outcome is settled for before the caller is told 504, and the pause between two tries. */
export const SETTLE_MS = 8_000;
export const SETTLE_PAUSE_MS = 250;
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
/** Most orders one sweep expires; the next sweep takes the rest. */
export const MAX_EXPIRIES_PER_SWEEP = 1_000;
/** Waiting orders a sweep tries before it lets other work go first; about a millisecond. */
export const SWEEP_SLICE = 128;

// --- Drivers ------------------------------------------------------------------------------------------------------
/** Positions written to Postgres a second, coalesced to the last one of each driver. */
export const POSITION_ROWS_PER_SECOND = 2_000;
/** How often a part of them is written. */
export const POSITION_FLUSH_MS = 250;
/** A phone's clock may lead the database's by this much; a position from further ahead counts as taken now. */
export const MAX_CLOCK_LEAD_MS = 5_000;

// --- Jobs ---------------------------------------------------------------------------------------------------------
/** How long a relayed job may take before the sweeper relays it again; longer than a job's own retries last. */
export const OUTBOX_LEASE_SECONDS = 15 * 60;

// --- Between processes --------------------------------------------------------------------------------------------
/** How often positions are passed on to the other API processes; a driver at 50 km/h moves 3 m in that time. */
export const POSITION_BROADCAST_MS = 200;
/** Most positions in one message between processes. */
export const MAX_POSITION_OUTBOX = 5_000;
/** How often the difference to the database's clock is measured; clocks drift by less than a millisecond in that time. */
export const CLOCK_SYNC_MS = 30_000;

// --- Sandbox ------------------------------------------------------------------------------------------------------
/** Longest wait for initdb; it takes a second, on a slow disk ten. */
export const POSTGRES_INIT_MS = 120_000;
/** Longest wait for the embedded Postgres to accept connections; after a crash it replays its log first. */
export const POSTGRES_READY_MS = 120_000;
/** How long a start is tried again while the processes of a killed Postgres die and free what they hold. */
export const POSTGRES_RETRY_MS = 15_000;
/** Longest wait for an orderly stop of the embedded Postgres, and then for a stop at once. */
export const POSTGRES_FAST_STOP_MS = 5_000;
export const POSTGRES_IMMEDIATE_STOP_MS = 2_000;
/** The embedded Postgres's own log is emptied when it is larger than this, in bytes. */
export const POSTGRES_LOG_BYTES = 4 * 1024 * 1024;
/** Connections the embedded Postgres accepts: several processes with a pool each, and a person with psql. */
export const POSTGRES_CONNECTIONS = 100;
/** Tries of one job before it is left to the sweeper. */
export const JOB_ATTEMPTS = 8;
/** First pause of the exponential backoff; eight attempts take about two minutes. */
export const JOB_BACKOFF_MS = 1_000;
/** A job whose lock was not renewed for this long is run again elsewhere. */
export const JOB_LOCK_MS = 60_000;
/** Failed jobs kept in the queue for a look; the outbox row and the order say the same for longer. */
export const KEEP_FAILED_JOBS = { age: 7 * 86_400, count: 10_000 };
/** Jobs one worker process runs at once. */
export const CHARGE_CONCURRENCY = 32;
export const SMS_CONCURRENCY = 16;
export const REDISPATCH_CONCURRENCY = 8;
/** Most outbox rows in one hand-over. */
export const RELAY_BATCH = 500;
/** A queue that has not taken a hand-over by then is left to the sweeper. */
export const QUEUE_DEADLINE_MS = 5_000;
/** How often the sweeper looks for owed rows whose lease has run out, and how many it takes at once. */
export const OUTBOX_SWEEP_MS = 5_000;
export const OUTBOX_SWEEP_ROWS = 1_000;
/** Done rows are kept for this long, for a look back, and deleted so many at a time. */
export const OUTBOX_KEPT_DAYS = 7;
export const OUTBOX_PRUNE_ROWS = 5_000;
/** The window over which a store's share of a limited rate is counted. */
export const SHARE_WINDOW_MS = 10_000;
/** BullMQ takes priorities up to 2^21. */
export const MAX_JOB_PRIORITY = 2_000_000;
/** How often a charge is attempted anew after a decline that may pass. */
export const MAX_PAYMENT_ATTEMPTS = 3;
/** Stripe may forget an idempotency key after 24 hours; from then on a charge is looked up, not sent again. */
export const STRIPE_KEY_SECONDS = 23 * 3600;
/** How often a text is sent at most: once, and once more after a look-up found nothing of the first. */
export const MAX_TEXT_SENDS = 2;
/** A confirmation that could not be sent for so long is not sent any more. */
export const TEXT_USEFUL_SECONDS = 4 * 3600;
/** How long a queue pauses after a vendor's 429. */
export const VENDOR_PAUSE_MS = 1_000;

// --- Settings -----------------------------------------------------------------------------------------------------
/** How long a reply waits for its charge by default, and at most. */
export const DEFAULT_PAYMENT_WAIT_MS = 3_000;
export const MAX_PAYMENT_WAIT_MS = 10_000;
/** Most replies that wait for a charge at once; one more says `processing` at once. */
export const MAX_PAYMENT_WAITERS = 2_000;
/** After so many waits in a row that were in vain, replies stop waiting until a probe succeeds. */
export const PAYMENT_WAIT_MISSES = 5;
/** Simulated drivers are clients of this same machine; more would measure themselves. */
export const MAX_SIMULATED_DRIVERS = 200;
