/**
 * Every bound of the service, with its unit and its reason. What a person may set is in `config.ts`; what stands here
 * is part of how the service works. The README lists the same figures.
 */

// --- HTTP ---------------------------------------------------------------------------------------------------------
/** Largest JSON body in bytes; a full order with long names is under 4 KiB. */
export const MAX_JSON_BYTES = 64 * 1024;
/** Largest photo upload in bytes; phones make 3 to 8 MB. */
export const MAX_PHOTO_BYTES = 10 * 1024 * 1024;
/** Most pixels a photo may have once decoded; 24 megapixels is 72 MB of memory, 192 MB in the widest PNG. */
export const MAX_PHOTO_PIXELS = 24_000_000;
/** Longest side of a photo in pixels, as of WebP; some of its lines are in memory at once, however few it has. */
export const MAX_PHOTO_SIDE = 16_384;
/** Passes a progressive JPEG may take over its picture; photos have about ten, and one takes 5 ms of 24 megapixels. */
export const MAX_PHOTO_SCANS = 100;
/** Longest a request may take before it is answered with 503 or 504. */
export const REQUEST_DEADLINE_MS = 15_000;
/** Longest a JSON body may take to arrive; below the 8 to 12 s after which the transport cuts a silent upload. */
export const BODY_DEADLINE_MS = 7_000;
/** Longest a photo may take to arrive: 10 MB at the 170 KB/s of a poor mobile link. */
export const PHOTO_DEADLINE_MS = 60_000;
/** Authenticated requests at work at once, those that wait for a charge included; one more is refused with 503. */
export const MAX_REQUESTS_IN_FLIGHT = 10_000;
/** Orders begin for so long in one turn of the event loop, about forty; the others wait for the next. A refusal is as quick as a turn. */
export const ADMISSION_SLICE_MS = 5;
/** Orders that wait to begin or to be stored; one more is refused with 503. A commit under way and one more: a third of a second to three, as the machine is. */
export const MAX_UNSTORED_ORDERS = 512;
/** HTTP connections of one process, WebSockets aside; one more is closed at once. Twice the requests that may be at work. */
export const MAX_CONNECTIONS = 20_000;
/** Bytes of JSON bodies, and of photos, held at once by the whole process; a body that does not fit is refused with 503. */
export const MAX_BUFFERED_BODY_BYTES = 128 * 1024 * 1024;
export const MAX_BUFFERED_PHOTO_BYTES = 128 * 1024 * 1024;
/** Bytes kept of a body before its sender is authenticated; then the upload is paused until that is known. */
export const MAX_UNAUTHENTICATED_BODY_BYTES = MAX_JSON_BYTES;
/** Of a refused body, so many bytes are still read so that the connection can be kept; beyond, it is closed. */
export const MAX_DISCARDED_BODY_BYTES = 1024 * 1024;
/** Longest path with its query, in characters; our longest has 300. */
export const MAX_TARGET_LENGTH = 2_048;
/** All headers of a request together, in characters; a browser sends under 2,000, proxies add little. */
export const MAX_HEADERS_LENGTH = 16_384;
/** Deepest nesting of a JSON body; an order has two levels. */
export const MAX_JSON_DEPTH = 32;
/** Most bad fields named in one reply; an order has fewer. */
export const MAX_FIELD_ERRORS = 32;
/** What `Keep-Alive` promises of an idle connection; the transport cuts one after 8 to 12 s. */
export const KEEP_ALIVE_SECONDS = 5;
/** When a caller refused with 429 or 503 may try again, unless a later time is known. */
export const RETRY_AFTER_SECONDS = 1;
/** Longest a readiness check may take before it counts as failed. */
export const READINESS_DEADLINE_MS = 2_000;
/** Longest the acceptance of a WebSocket may take before it is refused with 503. */
export const UPGRADE_DEADLINE_MS = 5_000;
/** Unsent bytes of one WebSocket; a reader that lets more pile up is dropped. Some hundred status messages. */
export const SOCKET_BACKPRESSURE_BYTES = 64 * 1024;

// --- Fields of a request (lengths in Unicode code points) -----------------------------------------------------------
/** The longest personal names on record stay below. */
export const MAX_NAME_LENGTH = 200;
/** An address fits into 254 octets (RFC 5321); counted in code points it is never refused too early. */
export const MAX_EMAIL_LENGTH = 254;
/** One formatted address: a store's name, street, suite, city, state, ZIP and country. */
export const MAX_PICKUP_ADDRESS_LENGTH = 500;
export const MAX_ADDRESS_LINE_LENGTH = 200;
export const MAX_CITY_LENGTH = 100;
/** Longest `Idempotency-Key`, in characters of printable ASCII; UUIDs and order numbers have a tenth of it. */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;
/** Our identifiers have 36 characters; a longer one can only be wrong. */
export const MAX_ID_LENGTH = 64;
/** Accuracy of a position in meters; a phone on cell towers alone is off by up to 35 km. */
export const MAX_ACCURACY_METERS = 100_000;
/** Speed in meters per second; an airliner's, so that no phone's noise is refused. */
export const MAX_SPEED_METERS_PER_SECOND = 300;

// --- Database -----------------------------------------------------------------------------------------------------
/** A statement that has not answered by then is given up: 503, or 504 where its outcome is unknown. */
export const QUERY_DEADLINE_MS = 5_000;
/** The server itself ends a statement then, so that its outcome is told and not guessed; below QUERY_DEADLINE_MS. */
export const STATEMENT_TIMEOUT_MS = 4_500;
/** A connection that owes an answer for so long beyond its statement time-out is taken for dead. */
export const DB_SILENCE_GRACE_MS = 2_000;
/** A connection that is not open and logged in by then is given up and tried again. */
export const DB_CONNECT_TIMEOUT_MS = 4_000;
/** How often a process asks the database whether it is there, and when one that has not answered counts as away. */
export const DB_PROBE_EVERY_MS = 500;
export const DB_PROBE_MS = 1_500;
/** A migration may rewrite a table; one statement of it may take so long. */
export const MIGRATION_STATEMENT_TIMEOUT_MS = 10 * 60_000;
/** A migration that cannot lock a table by then stops, before the statements queued behind it pile up. */
export const MIGRATION_LOCK_TIMEOUT_MS = 10_000;
/** How long a migrator waits for another one at work on the same database. */
export const MIGRATION_WAIT_MS = 60_000;
/** Connections of one process to Postgres, beside those of its commits and the one that listens. */
export const DB_CONNECTIONS = 10;
/** Most statements of one process waiting for an answer; one more is refused with 503. */
export const MAX_PENDING_QUERIES = 5_000;

// --- Group commit -------------------------------------------------------------------------------------------------
/** Most orders in one commit; above a few hundred a larger batch only adds latency. */
export const MAX_COMMIT_BATCH = 256;
/** Commits in flight at once; a second one goes only beside one that has taken longer than this, or where a whole batch waits. */
export const MAX_COMMITS_IN_FLIGHT = 2;
export const SLOW_COMMIT_MS = 100;
/** While more orders come than can begin, a commit waits so long for a whole batch. */
export const COMMIT_GATHER_MS = 100;
/** Most orders waiting for a commit; one more is refused with 503. Above MAX_UNSTORED_ORDERS, or work would be done for nothing. */
export const MAX_COMMIT_QUEUE = 768;
/**
 * An order whose commit has not begun by then is dropped with 503, so that nothing is stored for a caller who gave up. What
 * follows mostly takes two statements, or one and settling, and ends before REQUEST_DEADLINE_MS; else that tells 504.
 */
export const MAX_COMMIT_WAIT_MS = 3_000;
/** How long an unknown outcome is settled for before the caller is told 504, and the pause between two tries. */
export const RESOLVE_MS = 6_000;
export const RESOLVE_PAUSE_MS = 250;
/** An order whose reply never reached its client is given to the next equal request without a key for so long. */
export const DEDUP_KEPT_MS = 10 * 60_000;
/** Answered requests are let go of together, this often; an equal one at another process waits for it. */
export const DEDUP_RELEASE_MS = 50;
/** How often a request asks what became of an equal one at another process. */
export const DEDUP_POLL_MS = 25;
/** A process without a connection for its commits has died; one that only lost them has another by then. */
export const DEDUP_SILENT_MS = 3_000;
/** How often an order whose driver was lost to another process claims the next one before it waits. */
export const MAX_CLAIM_ATTEMPTS = 5;

// --- Matching -----------------------------------------------------------------------------------------------------
/**
 * Most rows of the tier table. The contract names three; eight leave room for more. Each costs a bit of every
 * driver's 32-bit tag, which leaves 23 bits for the driver's number, and 4 bytes of every cell.
 */
export const MAX_TIERS = 8;
/** A driver whose last position is older than this is not given orders. */
export const POSITION_FRESH_MS = 90_000;
/**
 * A cell with this many drivers (or waiting orders) is divided into finer ones; a cell whose parts hold no more than the
 * second number together is whole again. Small enough that reading one through costs as little as finding it; apart
 * enough that a count going up and down does not divide and join a cell over and over.
 */
export const CELL_SPLIT_MEMBERS = 64;
export const CELL_MERGE_MEMBERS = 16;
/** A cell beside a crowd may have hundreds of small neighbours; beyond this many a tree finds them faster than a list. */
export const MAX_NEIGHBOURS = 100;
/**
 * A driver whom the database refused is passed over until his row is read again; where that never comes, a position
 * this much later ends it. Long enough for the read, short against a driver's wait for work.
 */
export const SET_ASIDE_MS = 10_000;
/** Most orders waiting for a driver, in all and for one store; beyond, 503 `queue_full`. */
export const MAX_WAITING_ORDERS = 100_000;
export const MAX_WAITING_ORDERS_PER_RETAILER = 10_000;
/** The net below the events: every waiting order is tried again this often. */
export const REDISPATCH_SWEEP_MS = 15_000;
/** Most orders one sweep expires; the next sweep takes the rest. */
export const MAX_EXPIRIES_PER_SWEEP = 1_000;
/** Most orders and most drivers that are matched at once by minimum cost; 64 × 64 takes about a millisecond. */
export const MAX_BATCH = 64;
/** The nearest drivers looked at for each order of a batch; with up to as many orders the result is exact. */
export const BATCH_CANDIDATES = 8;
/** Drivers passed over that are kept on record with each assignment, of each kind; 50 bytes a driver. */
export const MAX_REJECTED_CANDIDATES = 5;
/** Of the radius that an order has; who is farther than this was never a candidate. */
export const REJECTED_CANDIDATE_RADII = 2;
/** How often a refused assignment is followed up by what it left free; races end after one, the sweep is behind it. */
export const MAX_FOLLOW_UPS = 4;
/** Drivers a sweep looks for an order for before it lets other work go first; in the densest crowd about 4 ms. */
export const SWEEP_SLICE = 16;
/** Ids of orders or drivers that a sweep compares with the tables' before it lets other work go first; about 2 ms. */
export const CATCH_UP_SLICE = 5_000;
/** Drivers that one sweep compares with the tables; of a larger fleet each sweep takes the next part. */
export const CATCH_UP_DRIVERS = 20_000;
/** Drivers that one statement reads when a fleet is loaded; a million at once take longer than a statement may. */
export const FLEET_PART = 50_000;

// --- Drivers ------------------------------------------------------------------------------------------------------
/** Positions written to Postgres a second, coalesced to the last one of each driver. */
export const POSITION_ROWS_PER_SECOND = 2_000;
/** How often a part of them is written. */
export const POSITION_FLUSH_MS = 250;
/** A change may be committed this much later than its time says, at most a statement's time-out; lists look back by it. */
export const LIST_OVERLAP_MS = 10_000;
/** A driver silent for this long before the pickup loses the order; longer than a dead zone lasts on the road. */
export const DRIVER_SILENT_MS = 10 * 60_000;
/** Orders on a page of a store's list, unless it asks for another number up to 100. */
export const DEFAULT_PAGE_SIZE = 50;
/** A dropoff known no better than this proves nothing of the door, so no distance is recorded at the handover. */
export const PROOF_DROPOFF_METERS = 200;
/** A position further in time from the handover than this says nothing of it; a car may be a kilometer on by then. */
export const PROOF_POSITION_MS = 60_000;
/** Longest id that a phone may give an action. */
export const MAX_ACTION_ID_LENGTH = 64;
/** How often an action is tried while the step before it is being made; an order has three steps. */
export const MAX_ACTION_TRIES = 3;
/** A phone's clock may lead the database's by this much; a position from further ahead counts as taken now. */
export const MAX_CLOCK_LEAD_MS = 5_000;

// --- Jobs ---------------------------------------------------------------------------------------------------------
/** How long a relayed job may take before the sweeper relays it again; longer than a job's own retries last. */
export const OUTBOX_LEASE_SECONDS = 15 * 60;
/** How long a row the sweeper took may take to be handed over and marked; as long as one that was just committed. */
export const OUTBOX_HAND_OVER_SECONDS = 30;

// --- Between processes --------------------------------------------------------------------------------------------
/** How often positions are passed on to the other API processes; a driver at 50 km/h moves 3 m in that time. */
export const POSITION_BROADCAST_MS = 200;
/** How long a start waits for Redis before it goes on without. */
export const SUBSCRIBE_WAIT_MS = 2_000;
/** Most positions in one message between processes. */
export const MAX_POSITION_OUTBOX = 5_000;
/** Most orders or drivers read at once after notices of other processes. */
export const MAX_FEED_BATCH = 500;
/** Most orders or drivers that wait to be read after notices; where more do, everything is read anew. */
export const MAX_FEED_PENDING = 20_000;
/** What could not be read is tried again after so long. */
export const FEED_RETRY_MS = 500;
/** After a write of unknown outcome to an order its notice is listened for so long (a network that was cut delivers what it kept up to two minutes later), and for at most so many orders at once. */
export const UNKNOWN_OUTCOME_MS = 180_000;
export const MAX_UNKNOWN_OUTCOMES = 10_000;
/** How often the difference to the database's clock is measured; clocks drift by less than a millisecond in that time. */
export const CLOCK_SYNC_MS = 30_000;
/** A measurement that took longer is left out; it is right to half of that. */
export const CLOCK_ROUND_TRIP_MS = 1_000;

// --- Live pages ---------------------------------------------------------------------------------------------------
/** Most sockets of customers in one process; each costs a few kilobytes. */
export const MAX_TRACKING_SOCKETS = 20_000;
/** Most sockets on one order, so that one link passed around cannot take the places of all others. */
export const MAX_SOCKETS_PER_ORDER = 50;
/** A customer's page only ever says `ping`. */
export const TRACKING_MESSAGE_BYTES = 64;
/** A page says it every 25 s and a little jitter; one that says it faster than this is not ours and is closed. */
export const TRACKING_PING_MIN_MS = 1_000;
/** A live socket that is silent for so long is closed; the transport pings before that. */
export const SOCKET_IDLE_SECONDS = 60;
/** A driver's position goes to a page at most this often; in that time a car moves about 14 m. */
export const POSITION_PUBLISH_MS = 1_000;
/** Orders (or drivers) that one statement reads for their live pages; 200 changes at once are two statements. */
export const MAX_LIVE_READS_PER_STATEMENT = 128;
/** Such statements in flight at once, of each kind; so a reconnect of everybody leaves the pool to the commits. */
export const MAX_LIVE_STATEMENTS = 2;
/** Most orders (or drivers) read for their live pages at once: what those statements hold, so that none goes half empty. */
export const MAX_LIVE_READS = MAX_LIVE_READS_PER_STATEMENT * MAX_LIVE_STATEMENTS;
/** A read for a live page that failed is tried again after this, doubling up to the second. */
export const LIVE_READ_RETRY_MS = 500;
export const LIVE_READ_RETRY_MAX_MS = 10_000;
/** An arrival is estimated only where the dropoff is known to this; a ZIP's centroid is not enough. */
export const ARRIVAL_DROPOFF_METERS = 1_000;
/** Roads over the great circle; about 1.2 in a grid of streets, 1.6 around water and hills. */
export const ARRIVAL_DETOUR = 1.35;
/** Door to door through a town: 40 km/h where it flows, 22 km/h where it does not. */
export const ARRIVAL_FAST_METERS_PER_SECOND = 11;
export const ARRIVAL_SLOW_METERS_PER_SECOND = 6;
/** What fetching a parcel at the store takes, at least and mostly at most. */
export const MIN_PICKUP_MS = 60_000;
export const ARRIVAL_PICKUP_MS = 6 * 60_000;
/** What stopping near the door and walking to it takes mostly at most. */
export const ARRIVAL_HANDOVER_MS = 2 * 60_000;
/** How long a tracking link works after its order ended; enough to look at the photo again. */
export const TRACKING_GONE_AFTER_MS = 7 * 24 * 3_600_000;
/** Most drivers' sockets in one process. */
export const MAX_DRIVER_SOCKETS = 10_000;
/** Largest message of a driver's phone in bytes; a position is about 120. */
export const DRIVER_MESSAGE_BYTES = 1_024;
/** A driver's socket must say who it is by then. */
export const DRIVER_HELLO_MS = 5_000;
/** What a driver's phone may send: one position a second is usual, a burst comes after a dead zone. */
export const DRIVER_MESSAGES_PER_SECOND = 5;
export const DRIVER_MESSAGE_BURST = 20;
/** Malformed or surplus messages after which a driver's socket is closed. */
export const MAX_DRIVER_STRIKES = 50;

// --- Sandbox ------------------------------------------------------------------------------------------------------
/** Longest wait for initdb; it takes a second, on a slow disk ten. */
export const POSTGRES_INIT_MS = 120_000;
/** Longest wait for the embedded Postgres to accept connections; after a crash it replays its log first. */
export const POSTGRES_READY_MS = 120_000;
/** How long a start is tried again while the processes of a killed Postgres die and free what they hold. */
export const POSTGRES_RETRY_MS = 30_000;
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
/** While the database is away a job is held for so long before it goes back to the queue, and how soon it is tried again. */
export const JOB_HELD_MS = 30_000;
export const JOB_HELD_RETRY_MS = 500;
/** A job whose lock was not renewed for this long is run again elsewhere. */
export const JOB_LOCK_MS = 60_000;
/** A job found without its worker so often has ended it each time, and is left to the sweeper, which comes back later. */
export const MAX_JOB_STALLS = 20;
/** A worker that met a connection error asks for jobs again after this; BullMQ's own pause is 15 s. */
export const WORKER_RETRY_MS = 1_000;
/** Failed jobs kept in the queue for a look; the outbox row and the order say the same for longer. */
export const KEEP_FAILED_JOBS = { age: 7 * 86_400, count: 10_000 };
/** A backend that is away is reported at most this often by each part that misses it. */
export const LOSS_REPORT_MS = 30_000;
/** Jobs one worker process runs at once; as many charges as there are connections to Stripe. */
export const CHARGE_CONCURRENCY = 160;
export const SMS_CONCURRENCY = 64;
export const REDISPATCH_CONCURRENCY = 8;
/** Most jobs that share one statement, and such statements in flight: two that lock the same orders wait for each other. */
export const MAX_JOBS_PER_STATEMENT = 64;
export const MAX_JOB_STATEMENTS = 1;
/** Most outbox rows in one hand-over, and in one statement that marks them. */
export const RELAY_BATCH = 500;
/** A queue that has not answered by then is asked again later. */
export const QUEUE_DEADLINE_MS = 5_000;
/** A job that is due later than this is not handed over yet: the sweeper takes it 30 s after it became due. */
export const RELAY_AHEAD_MS = 5 * 60_000;
/** A hand-over that failed is tried again this often, with at most so many rows; the rest is left to the sweeper. */
export const RELAY_RETRY_MS = 500;
export const RELAY_HELD_ROWS = 5_000;
/** A row older than this is left to the sweeper, which takes it when its first lease has ended, after 30 s. */
export const RELAY_HELD_MS = 25_000;
/** Redis is silent while a worker waits for jobs, at most 10 s; a connection silent for longer is opened anew. */
export const REDIS_SILENCE_MS = 12_000;
/** A Redis that loads its data is asked again after this at the latest; its own estimate at the start can be 10 s and more. */
export const REDIS_LOADING_RETRY_MS = 500;
/** Leases that one statement ends after Redis has lost its jobs; a tenth of a second. */
export const END_LEASES_ROWS = 5_000;
/** After one to two of these a handed over row that is not done is marked; twice this is less than its first lease, 30 s. */
export const RELAY_MARK_MS = 10_000;
/** Jobs of one queue that wait for a worker, a kilobyte each; more stay in the outbox until half of them are done. */
export const MAX_QUEUED_JOBS = 10_000;
/** A queue is asked how many wait once for so many jobs, and a full one so often. */
export const QUEUE_CHECK_ROWS = 1_000;
export const QUEUE_CHECK_MS = 1_000;
/** How often the sweeper looks for owed rows whose lease has run out, how many it takes at once, and when more are left. */
export const OUTBOX_SWEEP_MS = 5_000;
export const OUTBOX_SWEEP_ROWS = 1_000;
export const OUTBOX_SWEEP_SOON_MS = 250;
/** Done rows are kept for this long, for a look back, and deleted so many at a time. */
export const OUTBOX_KEPT_DAYS = 7;
export const OUTBOX_PRUNE_ROWS = 5_000;
/** What drivers' phones sent is remembered for this long, so that what is sent again gets its first answer. */
export const DRIVER_ACTIONS_KEPT_DAYS = 7;
/** The window over which a store's share of a limited rate is counted. */
export const SHARE_WINDOW_MS = 10_000;
/** BullMQ takes priorities up to 2^21. */
export const MAX_JOB_PRIORITY = 2_000_000;
/** How often a charge is attempted anew after a decline that may pass. */
export const MAX_PAYMENT_ATTEMPTS = 3;
/** Stripe may forget an idempotency key after 24 hours; from then on a charge is looked up, not sent again. */
export const STRIPE_KEY_SECONDS = 23 * 3600;
/** Before that, neither: Stripe's search finds a charge only about a minute after it was made, in an outage later. */
export const STRIPE_QUIET_SECONDS = 10 * 60;
/** How often a text is sent at most: once, and once more after the look-ups found nothing of the first. */
export const MAX_TEXT_SENDS = 2;
/** A text whose outcome is unknown is looked up so long after the send; Twilio may accept what it timed out on this late. */
export const TEXT_LOOKUP_SECONDS = [10, 60] as const;
/** A text that was counted so long ago is not sent by this process: another may be looking for it already. */
export const TEXT_HELD_UP_MS = 10_000;
/** A text is looked for from so long before its first send; its link is like no other, and Twilio's clock is not ours. */
export const TEXT_LOOKBACK_MS = 60 * 60_000;
/** A confirmation that could not be sent for so long after the order was made is not sent any more. */
export const TEXT_USEFUL_SECONDS = 4 * 3600;
/** Dropoffs one worker process looks up at once; the geocoder answers new orders' pickups meanwhile. */
export const LOCATE_CONCURRENCY = 4;
/** A geocoder that stays away for so long is not asked for a dropoff any more; most deliveries are over by then. */
export const LOCATE_USEFUL_SECONDS = 2 * 3600;
/** How long a queue pauses after a vendor's 429. */
export const VENDOR_PAUSE_MS = 1_000;

// --- Webhooks -----------------------------------------------------------------------------------------------------
/** Longest one try may take, the name's resolution included; a receiver should answer first and work later. */
export const WEBHOOK_TIMEOUT_MS = 5_000;
/** A name server that has not answered by then is asked once more. */
export const WEBHOOK_DNS_TIMEOUT_MS = 1_500;
/** Once one family of a name's addresses is known, the other one is waited for so long; some name servers never say. */
export const WEBHOOK_DNS_GRACE_MS = 500;
/** Of a receiver's reply only the status counts; so many bytes are read before the connection is cut. */
export const MAX_WEBHOOK_REPLY_BYTES = 64 * 1024;
/** Longest URL of a store's webhook; what browsers and servers agree on. */
export const MAX_WEBHOOK_URL_LENGTH = 2_000;
/** Tries at once in one worker process, and for one store, so that a slow receiver holds up nobody but itself. */
export const WEBHOOK_CONCURRENCY = 64;
export const MAX_WEBHOOKS_PER_STORE = 8;
/**
 * A delivery that found its store's places taken waits so long, and up to half its age more: a burst at a quick receiver
 * is through in seconds, and the backlog of a slow one asks less and less often.
 */
export const WEBHOOK_BUSY_SECONDS = 1;
/** Pauses after the first failures of a delivery, in seconds; the last one repeats. A tenth is added by chance. */
export const WEBHOOK_RETRY_SECONDS = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400] as const;
export const WEBHOOK_JITTER = 0.1;
/** An endpoint that has failed for so long without one success is disabled. */
export const WEBHOOK_DISABLE_SECONDS = 86_400;
/** A delivery is tried for a day; ten minutes more, so that its last try finds the endpoint failing for a whole one. */
export const WEBHOOK_TRIED_SECONDS = 86_400 + 600;
/** An endpoint without a success for so long is left alone for a quarter of the time it has been failing, at most the second. */
export const WEBHOOK_HOLD_AFTER_SECONDS = 60;
export const WEBHOOK_HOLD_MAX_SECONDS = 900;
/** Deliveries are kept for this long, to be listed and replayed. */
export const WEBHOOK_KEPT_DAYS = 30;

// --- Settings -----------------------------------------------------------------------------------------------------
/** How long a reply waits for its charge by default, and at most. */
export const DEFAULT_PAYMENT_WAIT_MS = 3_000;
export const MAX_PAYMENT_WAIT_MS = 10_000;
/** Orders a second that a store may create unless told otherwise; of a few hundred that two cores sustain for all. */
export const DEFAULT_STORE_RATE = 50;
export const MAX_STORE_RATE = 10_000;
/** Most replies that wait for a charge at once; one more says `processing` at once. */
export const MAX_PAYMENT_WAITERS = 2_000;
/** After so many waits in a row that were in vain, replies stop waiting until a probe succeeds. */
export const PAYMENT_WAIT_MISSES = 5;
/** Simulated drivers are clients of this same machine; more would measure themselves. */
export const MAX_SIMULATED_DRIVERS = 200;

// --- Vendors ------------------------------------------------------------------------------------------------------
/** Longest one call to Stripe may take; a charge takes 1 to 3 s, a slow bank 10 s. */
export const STRIPE_TIMEOUT_MS = 20_000;
/** Longest one call to Twilio may take; a message is accepted in well under a second. */
export const TWILIO_TIMEOUT_MS = 10_000;
/** Connections to one vendor; at 80 charges a second of 2 s each all are busy. */
export const VENDOR_SOCKETS = 160;
/** An unused connection to a vendor is closed after this; shorter than their servers' patience (60 s). */
export const VENDOR_SOCKET_IDLE_MS = 30_000;
/** Largest reply of a vendor in bytes; a page of 50 messages is about 60 KB. */
export const MAX_VENDOR_REPLY_BYTES = 1024 * 1024;
/** How many of a phone's last messages are looked through for one that may have been sent. */
export const MAX_MESSAGES_SEARCHED = 50;
/** Longest the geocoder is waited for; a store waits for its reply meanwhile. */
export const GEOCODER_TIMEOUT_MS = 500;
/** Longest the geocoder is waited for where nobody waits: a job that finds a dropoff. */
export const LOCATE_TIMEOUT_MS = 5_000;
/** What a geocoder's point is taken to be good for where it does not say: a street, not a door. */
export const GEOCODER_ACCURACY_METERS = 1_000;
/** What the centroid of a ZIP is good for: its area is a few kilometers across in a town and tens of them in the country. */
export const ZIP_ACCURACY_METERS = 10_000;
/** Questions to the geocoder at once; one more goes without an answer. */
export const MAX_GEOCODER_REQUESTS = 8;
/** Addresses whose answer is remembered, about 200 bytes each. */
export const MAX_GEOCODER_CACHE = 10_000;
/** An address that was found stays where it is. */
export const GEOCODER_FOUND_MS = 24 * 60 * 60_000;
/** An address that was not found may be new on the map tomorrow, or the geocoder was incomplete for a moment. */
export const GEOCODER_NOT_FOUND_MS = 10 * 60_000;
/** Longest side of a stored photo in pixels: sharp on a phone's screen, a few hundred kilobytes. */
export const STORED_PHOTO_SIDE = 2_048;
/** Photos that wait while one is decoded, at most MAX_PHOTO_BYTES each; one more is refused as busy. */
export const MAX_PHOTO_QUEUE = 8;
/** A photo that is not decoded by then is refused; 24 megapixels take about 1 s. */
export const PHOTO_TIMEOUT_SECONDS = 10;
/** Longest the photo bucket may be silent while it is asked; a photo takes 0.1 to 1 s. */
export const PHOTO_BUCKET_SILENCE_MS = 3_000;
/** How often a request to the bucket is sent at most: once more after a kept connection broke or the bucket was busy. */
export const PHOTO_BUCKET_ATTEMPTS = 2;
/** Longest storing or reading a photo in the bucket may take in all; with decoding and commit below REQUEST_DEADLINE_MS. */
export const PHOTO_BUCKET_DEADLINE_MS = 7_000;
/** Connections to the bucket, each moving up to one photo. */
export const PHOTO_BUCKET_SOCKETS = 32;

// --- Stand-ins of the sandbox -------------------------------------------------------------------------------------
/** Largest request to a stand-in in bytes. */
export const MAX_STAND_IN_BODY_BYTES = 256 * 1024;
/** What a stand-in remembers of each kind (payments, keys, messages), the latest; about 500 bytes each. */
export const MAX_STAND_IN_RECORDS = 20_000;
/** A ledger file that has grown to this is set aside, replacing the one set aside before it. */
export const MAX_LEDGER_BYTES = 8 * 1024 * 1024;
/** Most faults that can be ordered from a stand-in in advance. */
export const MAX_STAND_IN_FAULTS = 10_000;
/** Events that the demo store remembers of its webhooks, the last ones. */
export const MAX_WEBHOOKS_REMEMBERED = 100;
/** A webhook whose time is further from the receiver's clock may be an old one sent again; as the standard's libraries say. */
export const WEBHOOK_TOLERANCE_SECONDS = 300;
/** Longest latency or delay that can be ordered from a stand-in. */
export const MAX_STAND_IN_DELAY_MS = 120_000;

// --- Command line -------------------------------------------------------------------------------------------------
/** Rows a list command prints at most, newest first. */
export const LIST_LIMIT = 200;
/** Connections of one command. */
export const DB_CONNECTIONS_CLI = 1;

// --- Sandbox ------------------------------------------------------------------------------------------------------
/** A simulated driver moves and reports this often. */
export const SIMULATED_TICK_MS = 1_000;
/** As on a motorway, so that a demonstration lasts a minute. */
export const SIMULATED_SPEED_METERS_PER_SECOND = 25;
/** Where the way is longer than that speed gets through in this time, it is driven in this time. */
export const SIMULATED_LEG_MS = 60_000;
/** A simulated driver whose socket closed tries again after this. */
export const SIMULATED_RETRY_MS = 2_000;
export const SIMULATED_REQUEST_MS = 10_000;

// --- Start and stop -----------------------------------------------------------------------------------------------
/** One part that has not closed by then is left behind (the requests: so long after DRAIN_MS); all together stay within the 10 s of a stop. */
export const CLOSE_DEADLINE_MS = 3_000;
/** How often an API process without Redis makes sure that it is still the only one. */
export const API_LOCK_CHECK_MS = 5_000;
/** Connections of BullMQ where it runs on Postgres; each worker keeps one to listen on. */
export const QUEUE_DB_CONNECTIONS = 16;
/** A query of BullMQ that is not answered by then is given up with its connection, which a cut network would keep for good. */
export const QUEUE_QUERY_MS = 30_000;

// --- Credentials --------------------------------------------------------------------------------------------------
/** How long a found key or token is remembered: a revoked one is refused everywhere within this. Orders check again. */
export const CREDENTIAL_KEEP_MS = 1_000;
/** So long after it was good a key is known well enough to hear that there are too many orders; under that load a look-up takes long. */
export const CREDENTIAL_REMEMBERED_MS = 10_000;
/** Most keys, and most tokens, remembered at once. */
export const MAX_CREDENTIALS_KEPT = 50_000;
/** Keys that one statement reads, as many as a commit has orders; and such statements in flight at once. */
export const MAX_KEYS_PER_STATEMENT = 256;
export const MAX_KEY_READS = 4;
/**
 * Keys and tokens that nobody holds which one client address may have looked up in so many seconds: a store that goes on
 * with its old key notices long before, and a guesser gets nowhere.
 */
export const MAX_UNKNOWN_SECRETS = 100;
export const UNKNOWN_SECRETS_SECONDS = 60;
/** Client addresses are counted in so many slots, a few hundred bytes each; two share one by chance, and its bound. */
export const ADDRESS_SLOTS = 65_536;
/** How long a stop waits for the requests that were accepted. */
export const DRAIN_MS = 3_500;
/** A stop that takes longer ends the process. */
export const STOP_DEADLINE_MS = 9_500;
/** Behind npm a terminal's Ctrl-C arrives twice; within this time the second one is the same. */
export const SIGNAL_ECHO_MS = 2_000;
