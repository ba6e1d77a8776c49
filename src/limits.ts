/**
 * Every bound of the service, with its unit and its reason. What an operator may set is in `config.ts`; what
 * stands here is part of how the service works.
 *
 * A comment that puts one bound above or below another states a relation, and `assertRelations` at the end of
 * this file checks it at every start.
 */

// --- HTTP --------------------------------------------------------------------------------------------------
/** Largest JSON body in bytes. An order with all of its fields at their longest has 26 KB in ASCII. */
export const MAX_JSON_BYTES = 64 * 1024;
/** Largest photo upload in bytes. Phones make photos of 3 to 8 MB. */
export const MAX_PHOTO_BYTES = 10 * 1024 * 1024;
/** Most pixels of a decoded photo. 24 megapixels take 72 MB of memory, or 192 MB at 16 bits a channel. */
export const MAX_PHOTO_PIXELS = 24_000_000;
/** Longest side of an uploaded photo in pixels, as in WebP. Decoders hold some whole lines in memory. */
export const MAX_PHOTO_SIDE = 16_384;
/** Most scans in a progressive JPEG. Photos have about ten; each takes 5 ms at 24 megapixels. */
export const MAX_PHOTO_SCANS = 100;
/** Longest time from a whole body to its reply; then 503, or 504 where the outcome is unknown. */
export const REQUEST_DEADLINE_MS = 15_000;
/** Longest time for a JSON body to arrive. Below the 8 s at which the transport may cut the upload. */
export const BODY_DEADLINE_MS = 7_000;
/** Longest time for a photo to arrive: 10 MB at 170 KB/s, a poor mobile link. */
export const PHOTO_DEADLINE_MS = 60_000;
/**
 * Most requests at work, waits for a charge included; one more is refused with 503. The work begins with the
 * whole body.
 */
export const MAX_REQUESTS_IN_FLIGHT = 10_000;
/**
 * Most requests of one store, organization or driver, or of one network without a key, whose bodies are on their
 * way; one more is refused with 503. Below MAX_REQUESTS_IN_FLIGHT; a sender of that many at once mostly sends
 * each body with its head, and those do not wait.
 */
export const MAX_WAITING_BODIES_PER_CALLER = 2_000;
/** Time per event-loop turn for starting queued orders; about 40 orders. */
export const ADMISSION_SLICE_MS = 5;
/**
 * Longest expected wait of an order for its commit; one that would wait longer is refused with 503 at once.
 * Below MAX_COMMIT_WAIT_MS, after which it would be dropped. A thousand callers at once get their 201 from a
 * machine that stores 500 orders a second.
 */
export const MAX_ORDER_WAIT_MS = 2_000;
/** Orders that may wait on the slowest machine. At most MAX_COMMIT_BATCH, since they are one commit. */
export const MIN_UNSTORED_ORDERS = 128;
/** Orders a second that a process is assumed to store until it has measured its own rate. */
export const ASSUMED_ORDER_RATE = 1_000;
/** Time over which the rate is measured, so that a stall of a second, as of a disk, does not look like it. */
export const ORDER_RATE_WINDOW_MS = 5_000;
/** Most HTTP connections of one process, WebSockets aside; one more is closed at once. */
export const MAX_CONNECTIONS = 2 * MAX_REQUESTS_IN_FLIGHT;
/** Most bytes of JSON bodies held by one process; a body that does not fit is refused with 503. */
export const MAX_BUFFERED_BODY_BYTES = 128 * 1024 * 1024;
/**
 * Most bytes of photos held by one process; a photo that does not fit is refused with 503. A driver sends one
 * at a time, so at most MAX_PHOTO_BYTES of them are theirs.
 */
export const MAX_BUFFERED_PHOTO_BYTES = 128 * 1024 * 1024;
/**
 * Most bytes of JSON bodies, and of photos, held of one store, organization or driver, or of one network without
 * a key; a body that does not fit is refused with 503. An eighth of MAX_BUFFERED_BODY_BYTES, so that no slow
 * sender takes the others' room. Above MAX_PHOTO_BYTES.
 */
export const MAX_BODY_BYTES_PER_CALLER = 16 * 1024 * 1024;
/** Most bytes buffered of a body before its sender is authenticated; the upload pauses until then. */
export const MAX_UNAUTHENTICATED_BODY_BYTES = MAX_JSON_BYTES;
/**
 * Largest room set aside in bytes for the rest of a body that comes in pieces. A piece for itself would take
 * 128 bytes beside its own.
 */
export const BODY_BLOCK_BYTES = 64 * 1024;
/**
 * Most bytes read and dropped of a refused body to keep the connection open; a longer body closes it. Of a
 * sender who is let in it is as much as their route takes, so that they hear why.
 */
export const MAX_DISCARDED_BODY_BYTES = 1024 * 1024;
/** Size in bytes from which replies are counted until they are read. A JSON error has 300, a page up to 20 KB. */
export const LARGE_REPLY_BYTES = 4 * 1024;
/**
 * Most bytes of large replies that one network has unread, here and in the system's buffers, which hold up to
 * 4 MB for a connection; one more is refused with 503. The script of `/docs` has 0.5 MB compressed. At least
 * MAX_PHOTO_BYTES.
 */
export const MAX_UNSENT_BYTES_PER_NETWORK = 32 * 1024 * 1024;
/** Most of them for all networks. Above MAX_UNSENT_BYTES_PER_NETWORK, sixteen times as much. */
export const MAX_UNSENT_BYTES = 512 * 1024 * 1024;
/** Shortest time between two looks at the system's buffers, 20 ms of work where it has 20,000 connections. */
export const UNSENT_LOOK_MS = 250;
/**
 * Time after which what a network was sent is looked for again, so that who has read all takes no memory. Above
 * the 8 to 12 s after which the transport cuts a connection that takes nothing.
 */
export const UNSENT_FORGOTTEN_MS = 15_000;
/**
 * Longest path with its query, in characters. At least that of a list by an `external_id` of MAX_EXTERNAL_ID_LENGTH
 * characters, of which each may take 12, with 400 for the other filters; the transport takes 4 KB with the headers.
 */
export const MAX_TARGET_LENGTH = 3_500;
/**
 * Most characters in all headers of a request. A browser sends under 2,000 and proxies add little. From Node
 * 22 on, uWebSockets.js refuses more than 4 KB or 98 headers itself, with 431.
 */
export const MAX_HEADERS_LENGTH = 16_384;
/** Longest `Content-Type` in characters. The longest one in use has 35. */
export const MAX_CONTENT_TYPE_LENGTH = 256;
/** Longest address of a client that a proxy may name, in characters: an IPv6 address with zone and port. */
export const MAX_FORWARDED_LENGTH = 100;
/** Deepest nesting of a JSON body. An order has three levels. */
export const MAX_JSON_DEPTH = 32;
/** Most invalid fields named in one reply. The contract's order has fewer. */
export const MAX_FIELD_ERRORS = 32;
/** Time that `Keep-Alive` promises an idle connection. Below the 8 s at which the transport may cut it. */
export const KEEP_ALIVE_SECONDS = 5;
/** `Retry-After` of a 429 or 503 where no later time is known. */
export const RETRY_AFTER_SECONDS = 1;
/** Longest readiness check; one that takes longer has failed. */
export const READINESS_DEADLINE_MS = 2_000;
/** Longest time to accept a WebSocket; then it is refused with 503. */
export const UPGRADE_DEADLINE_MS = 5_000;
/** Time for which the transport keeps a closed WebSocket whose client does not close it too. */
export const CLOSING_SOCKET_MS = 16_000;
/** WebSockets of one kind dismissed with a reason in CLOSING_SOCKET_MS; further ones are cut without. */
export const MAX_CLOSING_SOCKETS = 1_000;
/** Most unsent bytes of one WebSocket, a few hundred messages; a slower reader is dropped. */
export const SOCKET_BACKPRESSURE_BYTES = 64 * 1024;

// --- Log of requests ---------------------------------------------------------------------------------------
/** Most failed requests a second that get a line each, about 200 bytes; the others are counted in one. */
export const MAX_FAILED_LINES = 500;
/** Most of them in the sandbox, whose terminal a person reads. Below MAX_FAILED_LINES. */
export const MAX_SANDBOX_FAILED_LINES = 10;
/** Bytes that are written at once. A pipe keeps writes of up to 4,096 bytes whole beside other writers'. */
export const REQUEST_LOG_WRITE_BYTES = 4_096;
/** Interval at which what is gathered is written, and so the most that a killed process loses. */
export const REQUEST_LOG_FLUSH_MS = 250;
/** Most bytes gathered while nobody reads. Above REQUEST_LOG_WRITE_BYTES. */
export const REQUEST_LOG_BYTES = 1024 * 1024;

// --- Fields of a request (lengths in Unicode code points) --------------------------------------------------
/** Longest name of a person. The longest ones on record are shorter. */
export const MAX_NAME_LENGTH = 200;
/** Longest e-mail address. RFC 5321 allows 254 octets, and no text has more code points than octets. */
export const MAX_EMAIL_LENGTH = 254;
/** Longest pickup address: a store's name, street, suite, city, state, ZIP and country in one line. */
export const MAX_PICKUP_ADDRESS_LENGTH = 500;
/** Longest `line1` or `line2` of a dropoff, well above any US street address. */
export const MAX_ADDRESS_LINE_LENGTH = 200;
/** Longest city name, well above any US place name. */
export const MAX_CITY_LENGTH = 100;
/** Longest `Idempotency-Key`, in printable ASCII. A UUID has 36 characters. */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;
/** Longest identifier that is looked at. The service's own have 36 characters. */
export const MAX_ID_LENGTH = 64;

// --- Optional fields of an order (lengths in Unicode code points) ------------------------------------------
/** Longest `external_id`, a store's own number of the order. Shops' numbers have under 50. */
export const MAX_EXTERNAL_ID_LENGTH = 255;
/** Most keys of an order's `metadata`, with MAX_METADATA_VALUE_LENGTH 11 KB of ASCII together. */
export const MAX_METADATA_KEYS = 20;
/** Longest key of `metadata`. */
export const MAX_METADATA_KEY_LENGTH = 40;
/** Longest value of `metadata`. */
export const MAX_METADATA_VALUE_LENGTH = 500;
/** Most lines of an order's `items`; a driver reads them at the store. */
export const MAX_ITEMS = 50;
/** Longest name of an item, a product's title. */
export const MAX_ITEM_NAME_LENGTH = 200;
/** Largest quantity of one item. */
export const MAX_ITEM_QUANTITY = 999;
/** Longest instructions for the pickup or for the dropoff; a driver reads them standing, on a phone. */
export const MAX_INSTRUCTIONS_LENGTH = 500;
/** Changes of the notes for one dropoff a minute, at each process; the customer fixes a slip or two. */
export const DROPOFF_CHANGES_PER_MINUTE = 6;
/** Most changes of the notes for one dropoff, an event each. Above DROPOFF_CHANGES_PER_MINUTE. */
export const MAX_DROPOFF_CHANGES = 20;
/** Largest body of such a change in bytes: MAX_INSTRUCTIONS_LENGTH with every character escaped has 6 KB. */
export const MAX_DROPOFF_BODY_BYTES = 8 * 1024;
/** Most unknown fields of an order that its reply names. */
export const MAX_WARNINGS = 20;
/** Most characters of a name that a client sent, where a reply quotes it. */
export const MAX_QUOTED_NAME_LENGTH = 60;
/** Most characters that are kept of a vendor's sentence about a refusal; theirs have up to 300. */
export const MAX_VENDOR_WORDS_LENGTH = 400;

// --- Fields of a driver's reports --------------------------------------------------------------------------
/**
 * Accuracy in meters from which a position is rough: a phone that gives away only about where it is says 1 to 5 km,
 * and one that looks for satellites among houses rarely over 500 m.
 */
export const ROUGH_POSITION_METERS = 1_000;
/** Largest accuracy of a position in meters. A phone on cell towers alone is off by up to 35 km. */
export const MAX_ACCURACY_METERS = 100_000;
/** Highest speed in meters per second: an airliner's, so that no phone's noise is refused. */
export const MAX_SPEED_METERS_PER_SECOND = 300;

// --- Batches, charges and photos asked for by a store -----------------------------------------------------
/** Most orders of one batch. Below MAX_COMMIT_BATCH: one commit has room for them and for those of others. */
export const MAX_ORDERS_PER_BATCH = 100;
/**
 * Largest body of a batch in bytes: 5 KiB for each order, of which most have under 1. A hundred times as much
 * as one order may have would take the event loop tens of milliseconds to parse. Above MAX_JSON_BYTES.
 */
export const MAX_BATCH_BYTES = 512 * 1024;
/**
 * Most batches of one store at work, judged before their bodies are taken. However slowly a store sends, it
 * holds a hundredth of MAX_BUFFERED_BODY_BYTES.
 */
export const MAX_BATCHES_PER_STORE = 2;
/** Orders of a batch that wait for a turn at once, so that a single order waits behind a few of each batch. */
export const BATCH_ORDERS_IN_LINE = 25;
/** Times that a store may have the charge of one order tried again; the operator may do so beyond that. */
export const MAX_STORE_CHARGE_RETRIES = 5;
/** Charges that a store may have tried again at one process within an hour: no card is tried on and on. */
export const MAX_STORE_CHARGE_RETRIES_PER_HOUR = 100;
/** Time for which a store may keep a photo without asking again. It never changes, and may be erased. */
export const MAX_PHOTO_AGE_SECONDS = 300;

// --- Database ----------------------------------------------------------------------------------------------
/** Longest wait for a statement. Below REQUEST_DEADLINE_MS, so that the caller hears what became of it. */
export const QUERY_DEADLINE_MS = 5_000;
/** Time after which Postgres ends a statement. Below QUERY_DEADLINE_MS, so that its outcome is known. */
export const STATEMENT_TIMEOUT_MS = 4_500;
/** Silence beyond the statement time-out after which a connection that owes an answer counts as dead. */
export const DB_SILENCE_GRACE_MS = 2_000;
/** Longest time to open a connection and log in; then the attempt is given up and made again. */
export const DB_CONNECT_TIMEOUT_MS = 4_000;
/** Pause between two probes that ask whether the database answers. */
export const DB_PROBE_EVERY_MS = 500;
/** Longest wait for a probe; then the database counts as away and statements are refused at once. */
export const DB_PROBE_MS = 1_500;
/**
 * Parts in which that wait is counted. A stall of this process counts as one part, however long it is, since
 * the answer may have arrived meanwhile.
 */
export const DB_PROBE_PARTS = 15;
/** Longest statement of a migration, which may rewrite a table. */
export const MIGRATION_STATEMENT_TIMEOUT_MS = 10 * 60_000;
/** Most attempts of a migration that loses a deadlock with statements at work, or does not get its locks in time. */
export const MIGRATION_TRIES = 5;
/** Longest wait of a migration for the lock on a table; statements queue up behind it meanwhile. */
export const MIGRATION_LOCK_TIMEOUT_MS = 10_000;
/** Longest wait for another migrator at work on the same database. */
export const MIGRATION_WAIT_MS = 60_000;
/** Connections of one process to Postgres, besides those of its commits and the one that listens. */
export const DB_CONNECTIONS = 10;
/** Connections of one process for lists of orders, which may be slow and must not delay anything else. */
export const LIST_DB_CONNECTIONS = 4;
/** Most statements of one process that wait for an answer; one more is refused with 503. */
export const MAX_PENDING_QUERIES = 5_000;
/** Interval at which the database's clock is read. Clocks drift by less than a millisecond meanwhile. */
export const CLOCK_SYNC_MS = 30_000;
/** Most by which this machine's clock may differ from Postgres's: signatures of vendors hold for minutes. */
export const MAX_CLOCK_DIFFERENCE_MS = 30_000;
/** Longest check of a setting against what it names. Above STRIPE_TIMEOUT_MS. */
export const CHECK_TIMEOUT_MS = 25_000;
/** Longest wait of a check for the service's own public address. Below CHECK_TIMEOUT_MS. */
export const PUBLIC_CHECK_MS = 5_000;
/** Room in bytes on the disk of DATA_DIR below which a check fails: 500 photos of half a megabyte. */
export const MIN_FREE_DISK_BYTES = 256 * 1024 * 1024;
/** Longest wait for Redis at a start, which goes on without it. */
export const REDIS_CHECK_MS = 4_000;
/** Longest measurement that counts, as its error is half its length. Below CLOCK_SYNC_MS. */
export const CLOCK_ROUND_TRIP_MS = 1_000;

// --- Group commit ------------------------------------------------------------------------------------------
/** Most orders in one commit. A batch of more than a few hundred only adds latency. */
export const MAX_COMMIT_BATCH = 256;
/** Most commits in flight: the second one starts beside a slow one, or when a full batch waits. */
export const MAX_COMMITS_IN_FLIGHT = 2;
/** Time after which a commit counts as slow. Below MAX_COMMIT_WAIT_MS, so that no waiting order fails. */
export const SLOW_COMMIT_MS = 100;
/** Longest wait of a commit for the orders of a full batch that have arrived and not started. */
export const COMMIT_GATHER_MS = 100;
/**
 * Longest wait for a commit to start; then the order is dropped with 503 and nothing is stored for a caller
 * that gave up. With what mostly follows, two statements or one and RESOLVE_MS, it stays below
 * REQUEST_DEADLINE_MS.
 */
export const MAX_COMMIT_WAIT_MS = 3_000;
/** Time spent resolving an unknown outcome before the caller gets 504. */
export const RESOLVE_MS = 6_000;
/** Most times a commit that deadlocked is sent again; nothing of it was written. */
export const MAX_COMMIT_RETRIES = 3;
/** Pause between two attempts to resolve an unknown outcome. */
export const RESOLVE_PAUSE_MS = 250;
/** Most attempts to claim another driver after one was lost to another process; then the order waits. */
export const MAX_CLAIM_ATTEMPTS = 5;
/** Most ids in one notice, 37 bytes each. Below the 8,000 bytes that a notice of Postgres may have. */
export const NOTICE_IDS = 200;
/** Most new orders in one notice, with what it tells of each. Below the same bound. */
export const NOTICE_ORDERS = 24;

// --- Request deduplication (requests without an idempotency key) -------------------------------------------
/** Time for which an equal request gets an order whose reply was lost. Above REQUEST_DEADLINE_MS. */
export const DEDUP_KEPT_MS = 10 * 60_000;
/** Most lost replies that share one statement: a load test ends with hundreds at once. */
export const MAX_LOST_REPLIES_PER_STATEMENT = 256;
/**
 * Statements in flight that write lost replies: one, because two that lock the same rows wait for each other.
 */
export const MAX_LOST_REPLY_WRITES = 1;
/**
 * Statements in flight that resolve orders of lost replies. The second goes beside one that waits for a
 * commit.
 */
export const MAX_LOST_REPLY_RESOLVES = 2;

// --- Matching ----------------------------------------------------------------------------------------------
/**
 * Most rows of the tier table. The contract names three; eight leave room for more. Each costs a bit of every
 * driver's 32-bit tag, which leaves 23 bits for the driver's number, and 4 bytes of every cell.
 */
export const MAX_TIERS = 8;
/** Age of the last position at which a driver stops getting orders. */
export const POSITION_FRESH_MS = 90_000;
/** Meters by which a driver may be beyond the radius when it is asked again: a search rounds otherwise. */
export const REACH_ROUNDING_METERS = 0.01;
/** Most drivers, or waiting orders, in a cell; then it is divided. Reading 64 is as quick as finding it. */
export const CELL_SPLIT_MEMBERS = 64;
/** Most members of a divided cell that is merged. Below CELL_SPLIT_MEMBERS, or cells would go to and fro. */
export const CELL_MERGE_MEMBERS = 16;
/** Most neighbours of a cell kept in a list. Beside a crowd there are more, which a tree finds faster. */
export const MAX_NEIGHBOURS = 100;
/**
 * Time for which a driver whom the database refused is set aside, unless the row is read again sooner. Above
 * QUERY_DEADLINE_MS, for that read, and short against a driver's wait for work.
 */
export const SET_ASIDE_MS = 10_000;
/** Most orders waiting for a driver; one more is refused with 503 `queue_full`. */
export const MAX_WAITING_ORDERS = 100_000;
/**
 * Most waiting orders of one store. Below MAX_WAITING_ORDERS, so that no store takes all the room; in the
 * sandbox, where a load test has one store, as many as of all.
 */
export const MAX_WAITING_ORDERS_PER_RETAILER = 10_000;
/**
 * Meters by the great circle that a driver comes in a minute, for the cost of a way: in seconds of road above
 * ARRIVAL_SLOW_METERS_PER_SECOND and below ARRIVAL_FAST_METERS_PER_SECOND.
 */
export const WAY_METERS_PER_MINUTE = 375;
/**
 * Minutes of way that a minute of waiting is worth, at weight 1. From 0.3 to 0.7 the customers of public days
 * wait least (docs/performance.md).
 */
export const WAIT_FACTOR = 0.5;
/** Claim (time waited × weight) from which an order's age decides, however long the way: 2 h at weight 1. */
export const AGE_DECIDES_MS = 2 * 3_600_000;
/**
 * Steps in which it does: of orders with the same whole hours of claim the cost decides. By the exact age
 * every way would be long where most orders are old, drivers would carry a fifth less, and all would wait
 * longer, the oldest too (docs/performance.md). At most AGE_DECIDES_MS.
 */
export const AGE_STEP_MS = 3_600_000;
/**
 * Time after which a store's next waiting order counts as waiting, from when its last one does. Twenty orders
 * an hour are a tenth of what 100 drivers carry, and a two-hundredth of what 2,000 do. On public days five
 * minutes still delay nobody, and ten do (docs/performance.md).
 */
export const FAIR_SHARE_MS = 3 * 60_000;
/**
 * Most time by which an order counts as waiting later than it waits. Above FAIR_SHARE_MS, of which it holds
 * 40; the orders of a store beyond them count from the same time.
 */
export const MAX_FAIR_LEAD_MS = 2 * 3_600_000;
/** Interval of the sweep that tries every waiting order again, in case an event was missed. */
export const REDISPATCH_SWEEP_MS = 15_000;
/** Most orders that one sweep expires or takes from silent drivers; the next sweep takes the rest. */
export const MAX_EXPIRIES_PER_SWEEP = 1_000;
/** Most orders and most drivers in one minimum-cost matching. 64 × 64 takes about a millisecond. */
export const MAX_BATCH = 64;
/** Nearest drivers considered for each order of a batch; exact up to 8 orders. At most MAX_BATCH. */
export const BATCH_CANDIDATES = 8;
/** Most rejected candidates of each kind recorded with an assignment, 50 bytes each. */
export const MAX_REJECTED_CANDIDATES = 5;
/** Radii of the order within which a driver counts as a candidate at all. */
export const REJECTED_CANDIDATE_RADII = 2;
/** Most follow-ups of an assignment that the database refused. A race mostly ends after one. */
export const MAX_FOLLOW_UPS = 4;
/** Drivers for whom a sweep seeks an order before it yields the event loop; 4 ms in the densest crowd. */
export const SWEEP_SLICE = 16;
/** Ids that a sweep compares with the tables before it yields the event loop; about 2 ms. */
export const CATCH_UP_SLICE = 5_000;
/** Drivers that one sweep compares with the tables; the next sweep goes on from there. */
export const CATCH_UP_DRIVERS = 20_000;
/** Drivers that one statement reads to load a fleet. A million take longer than STATEMENT_TIMEOUT_MS. */
export const FLEET_PART = 50_000;
/** Shortest time before a released order expires, so that it has a chance of another driver. */
export const RELEASED_ORDER_WAIT_SECONDS = 3_600;

// --- When an order is due ----------------------------------------------------------------------------------
/** Furthest that an order's times may be ahead: a week of windows, as shops offer them. */
export const MAX_AHEAD_MS = 7 * 24 * 3_600_000;
/**
 * Time by which the clocks of a store and of the service may differ, and for which a request may be under way:
 * a parcel that was ready so long ago is ready now. Below MIN_WINDOW_MS.
 */
export const TIMES_GRACE_MS = 5 * 60_000;
/** Shortest time in which an order may be delivered: a driver within the first radius drives about that long. */
export const MIN_WINDOW_MS = 20 * 60_000;
/** The promise where the tier's row is gone, in minutes: that of `standard`. At least MIN_PROMISE_MINUTES. */
export const DEFAULT_PROMISE_MINUTES = 180;
/** Shortest promise of a tier in minutes. At least MIN_WINDOW_MS, the shortest that a store may ask for. */
export const MIN_PROMISE_MINUTES = 20;
/** Longest promise of a tier in minutes: a week. Above DEFAULT_PROMISE_MINUTES. */
export const MAX_PROMISE_MINUTES = 7 * 24 * 60;
/**
 * The usual way of the nearest driver to a pickup, as a share of the tier's first radius: of three drivers
 * anywhere in a circle the nearest is, at the median, 0.45 radii from its middle, and of ten 0.26.
 */
export const APPROACH_SHARE = 0.33;
/** Longest time before the pickup at which a driver is sought, however large the radius. Below MIN_WINDOW_MS. */
export const MAX_APPROACH_MS = 15 * 60_000;
/** An order that is due within this time goes at once: it would not be late, and needs no second look. */
export const DUE_SOON_MS = 5_000;
/**
 * Time by which processes may give an order before it is due, since each measures the database's clock by
 * itself. At least CLOCK_ROUND_TRIP_MS, twice the error of that, and below DUE_SOON_MS.
 */
export const DUE_TOLERANCE_MS = 1_000;
/** Longest time for which a timer for the next due order is set; the measured clock may change meanwhile. */
export const DUE_TIMER_MS = 30_000;
/** Orders for later that one turn of the event loop wakes; about 10 ms. */
export const DUE_SLICE = 1_000;
/**
 * Most orders that wait for their time, which count as waiting ones too. Half of MAX_WAITING_ORDERS, so that
 * orders of next week never take the room of those of today.
 */
export const MAX_LATER_ORDERS = 50_000;
/**
 * Most of them of one store; half of MAX_WAITING_ORDERS_PER_RETAILER, for the same reason. In the sandbox as
 * many as of all.
 */
export const MAX_LATER_ORDERS_PER_RETAILER = 5_000;

// --- Drivers -----------------------------------------------------------------------------------------------
/** Most positions written to Postgres a second, the last one of each driver. */
export const POSITION_ROWS_PER_SECOND = 2_000;
/** Interval at which a part of them is written. */
export const POSITION_FLUSH_MS = 250;
/**
 * Time by which a list of changes looks back before its cursor, as a change is committed later than its own
 * time says. Above STATEMENT_TIMEOUT_MS, which bounds that delay.
 */
export const LIST_OVERLAP_MS = 10_000;
/** Orders on a page of a store's list, unless the store asks for another number up to 100. */
export const DEFAULT_PAGE_SIZE = 50;
/** Orders that one page of such a list looks at before it ends early: 10 ms. Above the largest page, of 100. */
export const LIST_SCAN_ROWS = 5_000;
/** Time after which Postgres ends the statement of such a list. Below LIST_DEADLINE_MS. */
export const LIST_STATEMENT_MS = 1_000;
/** Longest wait for a list of orders, a connection's included. Below QUERY_DEADLINE_MS. */
export const LIST_DEADLINE_MS = 2_000;
/** Lists of one store that one process reads at once. Below LIST_DB_CONNECTIONS: others go on beside them. */
export const MAX_LISTS_PER_STORE = 2;
/** Lists of one store that wait for those; one more is refused with 429. */
export const MAX_WAITING_LISTS_PER_STORE = 8;
/** Longest wait of a list for those before it; then it is refused with 429. Below REQUEST_DEADLINE_MS. */
export const LIST_WAIT_MS = 2_000;
/** Silence after which a driver loses an order not yet picked up. Above POSITION_FRESH_MS. */
export const DRIVER_SILENT_MS = 10 * 60_000;
/** Time in which so many releases use up a driver's budget, and the pause after that: an hour. */
export const RELEASE_PAUSE_SECONDS = 3_600;
/** Time for which a driver's releases lengthen the next pause. Above RELEASE_PAUSE_SECONDS. */
export const RELEASE_COUNTED_SECONDS = 24 * 3_600;
/**
 * Distance from the store in meters at which a driver sees the customer's name, unit, phone, items and notes
 * before the pickup: outside of a dead zone in the store, with the error of a phone between houses.
 */
export const CUSTOMER_SHOWN_METERS = 300;
/** Largest error of a dropoff in meters at which the distance to it is recorded as proof of delivery. */
export const PROOF_DROPOFF_METERS = 200;
/** Longest time between a position and the handover it proves. A car may be a kilometer away by then. */
export const PROOF_POSITION_MS = 60_000;
/**
 * Speed in meters per second, in a straight line from stop to stop, above which nobody delivers: 144 km/h. The
 * payout of a delivery that needed more is held.
 */
export const PLAUSIBLE_METERS_PER_SECOND = 40;
/** Shortest plausible time from an assignment to the end of the order, even where both are next door. */
export const MIN_DELIVERY_MS = 30_000;
/**
 * Distance from the store, beyond what its point is off, at which a driver cannot be there. A store's point may
 * be the middle of a town's ZIP, and a fix between tall buildings is off by hundreds of meters.
 */
export const STORE_FAR_METERS = 2_000;
/** The same distance from a customer's door, whose accuracy is known. Above PROOF_DROPOFF_METERS. */
export const DOOR_FAR_METERS = 1_000;
/**
 * Distance from the pickup in meters within which a driver has not left it: a store with its parking lot, and
 * the error of a phone between houses. At least CUSTOMER_SHOWN_METERS.
 */
export const STILL_AT_PICKUP_METERS = 300;
/**
 * Distance in meters from the pickup to a door up to which a driver at the one may be at the other: what each of
 * two fixes may be off. At least twice STILL_AT_PICKUP_METERS and below DOOR_FAR_METERS.
 */
export const NEIGHBOUR_METERS = 600;
/** Difference of two house numbers of a street up to which they are neighbours: a block has a hundred. */
export const NEIGHBOUR_NUMBERS = 100;
/** Age at which a position says nothing of where a driver is by now. Above POSITION_FRESH_MS. */
export const RECEIPT_POSITION_MS = 10 * 60_000;
/** Most by which the clock of a phone that is set by hand may be off. Above MAX_CLOCK_LEAD_MS. */
export const STAMP_SKEW_MS = 5 * 60_000;
/** Longest time for which a phone keeps an action that it cannot send. Above STAMP_SKEW_MS. */
export const STAMP_KEPT_MS = 24 * 60 * 60_000;
/** Longest id that a phone may give an action, in characters. A UUID has 36. */
export const MAX_ACTION_ID_LENGTH = 64;
/** Most attempts of an action while the step before it is being written. An order has three steps. */
export const MAX_ACTION_TRIES = 3;
/**
 * Seconds by which a phone's clock may be behind where it says that a parcel was fetched after the order was given:
 * above what a phone that sets its clock by the network is ever off, and below what a driver needs for the way.
 */
export const LATE_PICKUP_LAG_SECONDS = 60;
/** Most time by which a phone's clock may lead; a position from further ahead counts as taken now. */
export const MAX_CLOCK_LEAD_MS = 5_000;

// --- Planner -----------------------------------------------------------------------------------------------
/** Promise up to which a minute to the door counts whole; of a longer one it counts less in proportion. */
export const PLANNER_HURRY_MS = 120 * 60_000;
/** What a minute beyond the promise costs beside a minute before it. */
export const PLANNER_LATE_COST = 40;
/** What a minute of an order costs that is beyond its store's share, beside one that is within. Below 1. */
export const PLANNER_BEYOND_SHARE = 0.2;
/** What a driver's minute costs beside a customer's: of two drivers about as quick the one who drives less goes. */
export const PLANNER_DRIVER_COST = 0.1;
/** A driver for whom only one order is planned is told so much sooner: ready times of stores are whole minutes. */
export const PLANNER_HEAD_START_MS = 60_000;
/** Most orders that are planned at once; others go to whoever is free, until there is room. */
export const MAX_PLANNED_ORDERS = 3_000;
/** Most orders that are planned for each driver on duty, where those are more than LEAST_PLANNED_ORDERS. */
export const PLANNED_ORDERS_PER_DRIVER = 8;
/** Orders that are planned however few the drivers are. Below MAX_PLANNED_ORDERS. */
export const LEAST_PLANNED_ORDERS = 100;
/** Most drivers for whom is planned. Of more, those who become free or are near an order go before idle ones. */
export const MAX_PLANNED_DRIVERS = 20_000;
/** Most drivers whose place is compared with the planned orders in one look, of all there are: about 3 ms. */
export const MAX_SOUGHT_PER_LOOK = 100_000;
/** Most cells of the grid in which an order's radius is marked, 200 km; a longer one is compared with each driver. */
export const MAX_REACH_CELLS = 256;
/** Most such orders; where there are more, every driver counts as in reach. */
export const MAX_WIDE_REACHES = 16;
/** Most drivers who are looked at to find one who can be forgotten. */
export const MAX_FORGOTTEN_LOOKS = 32;
/** Most orders without a driver for whom one is looked for in one look. */
export const MAX_RETRIED_ORDERS = 16;
/** Most drivers who came, moved or became free that are remembered until orders are tried for them. */
export const MAX_CAME_DRIVERS = 256;
/** Most of them for whom orders are tried in one look. */
export const MAX_CAME_PER_LOOK = 2;
/** How long before they are at a store drivers are told of what more they fetch there. */
export const PLANNER_JOIN_MS = 5 * 60_000;
/** How long before it is due an order is planned. */
export const PLANNED_AHEAD_MS = 2 * 3_600_000;
/** Time between two looks at who is to be told now. */
export const PLANNER_LOOK_MS = 1_000;
/** Shortest time between two looks, where something changed. Below PLANNER_LOOK_MS. */
export const PLANNER_LOOK_SOON_MS = 20;
/** Time between the beginnings of two passes. Above PLANNER_LOOK_MS. */
export const PLANNER_PASS_MS = 10_000;
/** A pass that comes early, for a driver who is free, waits for so many times what the last one took. */
export const PLANNER_PASS_REST = 25;
/** Longest turn of the event loop that planning takes. Below PLANNER_LOOK_SOON_MS. */
export const PLANNER_TURN_MS = 4;
/** Time that planning leaves to everything else after a turn, in turns. */
export const PLANNER_REST_TURNS = 3;
/** How long a process may plan without renewing its right to. */
export const PLANNER_LEASE_MS = 3_000;
/** Most orders in a plan whose ways are all asked of the router; above, those of what is told. */
export const MAX_NOTED_ORDERS = 300;
/** Time between two rounds of asking idle drivers where to wait. */
export const IDLE_ROUND_MS = 30_000;
/**
 * Time between two renewals, or attempts to get the right: one that is given back has its next holder within a
 * second. Below PLANNER_LEASE_MS.
 */
export const PLANNER_LEASE_RENEW_MS = 500;
/** By how much earlier than the database a process counts its right as over. Below PLANNER_LEASE_MS. */
export const PLANNER_LEASE_MARGIN_MS = 500;
/** Change of a planned arrival below which readers are not told of it. Below ESTIMATE_MOVED_MS. */
export const PLAN_TOLD_MS = 30_000;
/** Time after which plans are written without a change, so that late news of them is told. */
export const PLANS_REWRITTEN_MS = 30_000;
/** Most orders whose plans are looked at for readers in one look. */
export const MAX_PLANS_PER_LOOK = 300;
/** Nearest drivers that are tried for an order; twice as many found a twentieth of a minute on public days. */
export const PLANNER_NEAREST = 12;
/** How long before their duty begins drivers are planned for, so that they are told as it begins. */
export const PLANNER_AHEAD_MS = 30 * 60_000;
/** Time after which a minute of an order beyond its promise costs twice as much. */
export const PLANNER_STARVING_MS = 60 * 60_000;
/**
 * Most stops of a route; orders for which no near driver has room are planned later, the most urgent first.
 * Above PLANNER_ORDERED_STOPS.
 */
export const PLANNER_MAX_STOPS = 32;
/** Most stops of a route whose best order is searched for: four parcels have 2,520 orders. */
export const PLANNER_ORDERED_STOPS = 8;
/** How long a search that found nothing is not repeated while the routes that it went through are the same. */
export const PLANNER_SEEN_MS = 5 * 60_000;
/** Most orders that are taken out of the plan at once, to be put in another way: about 1 ms. */
export const PLANNER_RUIN_ORDERS = 7;
/** Most times that this is tried in a pass. */
export const MAX_RUINS_PER_PASS = 200;
/** Most of the next best drivers that a reason names. */
export const PLANNER_ALTERNATIVES = 3;
/** Most orders of which drivers are told in one look, about 2 ms. */
export const MAX_TOLD_PER_LOOK = 4;
/** Most orders that are put elsewhere at once when their driver goes, about 2 ms; the next pass puts the others. */
export const MAX_PUT_AT_ONCE = 6;
/** Time after which an order counts half in where orders are expected: about a rush. */
export const PLANNER_DEMAND_MS = 60 * 60_000;
/** Most stores, those of the most orders, by which idle drivers are asked to wait elsewhere. */
export const PLANNER_WAIT_PLACES = 128;
/** Most idle drivers for whom a better place to wait is looked for at once, about 1 ms. */
export const MAX_WAITS_PER_LOOK = 8;
/**
 * Most pairs of a driver and a store that are measured at once for places to wait, about 1 ms: where there are
 * more, the drivers are counted over some looks.
 */
export const MAX_WAIT_PAIRS_PER_LOOK = 100_000;
/** How soon drivers are free that count as near a store where orders are expected. */
export const PLANNER_WAIT_AHEAD_MS = 15 * 60_000;
/** Longest way to a place to wait; on it a driver is farther from the stores that are left. */
export const PLANNER_WAIT_WAY_MINUTES = 10;
/** Most stores by which it is known where orders are expected; the one that is quiet for longest is forgotten. */
export const MAX_DEMAND_PLACES = 10_000;

// --- What is told of plans ---------------------------------------------------------------------------------
/** Time after its handover at which a plan no longer counts: nobody plans any more. Above PLAN_STEP_MS. */
export const PLAN_PAST_MS = 10 * 60_000;
/** Steps of the clock by which the range around a planned handover narrows: two readings say the same. */
export const PLAN_STEP_MS = 5 * 60_000;
/** Change of a planned handover of which its store and open pages are told. */
export const ESTIMATE_MOVED_MS = 5 * 60_000;
/** Shortest time between two such events of an order, so that a plan that goes to and fro floods nobody. */
export const ESTIMATE_TOLD_EVERY_MS = 5 * 60_000;
/** Most such events of one statement; the next one, about a second later, has the others. */
export const MAX_ESTIMATES_TOLD = 500;
/** Time for which deliveries are counted in `stats`: a day, so that no hour of it is missing. */
export const STATS_MS = 24 * 3_600_000;
/** Time by which numbers of events may be given late without a delivery missing there. Below STATS_MS. */
export const STATS_LATE_MS = 3_600_000;
// --- Roads (ROUTER_URL) ------------------------------------------------------------------------------------
/** Longest call to the router. A table of ROAD_TABLE_PLACES takes some 20 ms. Below ROAD_ROUND_MS. */
export const ROUTER_TIMEOUT_MS = 1_000;
/** Time within which the tables of one round are begun, as the planner's next look waits for them. */
export const ROAD_ROUND_MS = 2_000;
/** Pause after the first call that the router did not answer. Below MAX_ROUTER_PAUSE_MS. */
export const ROUTER_PAUSE_MS = 5_000;
/** Longest pause of a router that is away; each further failure doubles it up to this. */
export const MAX_ROUTER_PAUSE_MS = 60_000;
/** Most places of one table: the bound of OSRM's server as it comes. Above ROAD_TABLE_STEP. */
export const ROAD_TABLE_PLACES = 100;
/** Places by which tables grow again after the router refused larger ones. */
export const ROAD_TABLE_STEP = 10;
/** Most tables of one round, asked for one after another: 0.2 s of a router on the same machine. */
export const MAX_ROAD_TABLES = 10;
/** Most ways noted for a round, about 150 bytes each; what finds no place is noted again by the next look. */
export const MAX_WANTED_WAYS = 5_000;
/**
 * Most ways whose roads are kept, 20 bytes each; a power of two. A thousand drivers with 3,000 orders have
 * some 10,000 legs, and a few alternatives to each.
 */
export const MAX_ROADS = 2 ** 16;
/** Time for which the road of a way is kept: servers that know the traffic change it within an hour. */
export const ROAD_KEPT_MS = 60 * 60_000;
/**
 * Edge in meters of the cells by which roads are kept: narrower than the rivers and railways of which a cell
 * would have both sides, and half a minute of a car.
 */
export const ROAD_CELL_METERS = 200;
/**
 * Meters of straight line that a car makes in a minute at most: 108 km/h, a motorway without a bend. Above
 * CAR_METERS_PER_MINUTE.
 */
export const ROAD_FASTEST_METERS_PER_MINUTE = 1_800;
/**
 * What a way without a road takes beyond the model's time. Whoever has a road goes first, and yet an order is
 * brought where only the map lacks it.
 */
export const NO_ROAD_MS = 2 * 3_600_000;
// --- Where idle drivers wait -------------------------------------------------------------------------------
/** Interval at which orders are counted anew, by which more are expected. Below PLANNER_DEMAND_MS. */
export const DEMAND_REFRESH_MS = 5 * 60_000;
/** Age of the oldest order of the last hours that counts: a sixteenth. Above PLANNER_DEMAND_MS. */
export const DEMAND_BACK_MS = 4 * 60 * 60_000;
/** Weeks before, whose orders at this hour count. */
export const DEMAND_WEEKS = 4;
/** Most orders of the last hours, and of an hour of each week before, that are counted: the newest. */
export const DEMAND_ORDERS = 20_000;
/** A driver is where they were asked to wait within so many meters: a parking lot is as large. */
export const IDLE_WAIT_METERS = 150;
/** Time after which a driver who has not come is asked no more. Above PLANNER_WAIT_WAY_MINUTES. */
export const IDLE_WAIT_MS = 12 * 60_000;
/** A driver is asked at most once in this time. Above IDLE_WAIT_MS, so that no two asks overlap. */
export const IDLE_WAIT_PAUSE_MS = 15 * 60_000;

// --- Between processes -------------------------------------------------------------------------------------
/** Interval at which positions go to the other API processes. A driver at 50 km/h moves 3 m meanwhile. */
export const POSITION_BROADCAST_MS = 200;
/** Longest wait of a start for Redis before it goes on without. */
export const SUBSCRIBE_WAIT_MS = 2_000;
/** Most positions in one message between processes. */
export const MAX_POSITION_OUTBOX = 5_000;
/** Most orders or drivers read in one statement after notices of other processes. */
export const MAX_FEED_BATCH = 500;
/** Most orders or drivers waiting to be read; beyond, all are read anew. Above MAX_FEED_BATCH. */
export const MAX_FEED_PENDING = 20_000;
/**
 * Age of a new order's commit from which on its notice is not believed but read, since the order may have ended
 * meanwhile. A notice comes within milliseconds.
 */
export const GIVEN_FRESH_MS = 5_000;
/** Time for which a process remembers at least which orders it has heard of. */
export const HEARD_ORDERS_MS = 10_000;
/** Pause before a failed read of changes is tried again. */
export const FEED_RETRY_MS = 500;
/**
 * Time for which a process listens for its own notice after a write of unknown outcome. Above the two minutes
 * after which a network that was cut may still deliver, and the statement that follows.
 */
export const UNKNOWN_OUTCOME_MS = 180_000;
/** Most orders whose unknown outcomes are remembered; then the oldest are left to the sweep. */
export const MAX_UNKNOWN_OUTCOMES = 10_000;

// --- Live pages --------------------------------------------------------------------------------------------
/** Most sockets of customers in one process, a few kilobytes each. */
export const MAX_TRACKING_SOCKETS = 20_000;
/** Most sockets on one order. Below MAX_TRACKING_SOCKETS, so that one shared link does not take all. */
export const MAX_SOCKETS_PER_ORDER = 50;
/**
 * Most links from one address that are looked up at once for a socket; one more is refused with 503. Below
 * MAX_TRACKING_SOCKETS, as a socket takes its place while its link is looked up.
 */
export const MAX_TRACKING_LOOKUPS_PER_ADDRESS = 500;
/** Largest message from a customer's page in bytes. The page only ever sends `ping`. */
export const TRACKING_MESSAGE_BYTES = 64;
/** Longest time in which a customer's page sends no `ping`. */
export const TRACKING_PING_MS = 25_000;
/** Silence in which a customer's page sends one all the same, as what it is sent may be lost on the way. */
export const TRACKING_QUIET_MS = 7_000;
/** Shortest time between two pings; a page that sends them faster is closed. Far below TRACKING_PING_MS. */
export const TRACKING_PING_MIN_MS = 1_000;
/** Silence after which a live socket is closed. Above two of TRACKING_PING_MS or of DRIVER_PING_MS. */
export const SOCKET_IDLE_SECONDS = 60;
/** Shortest time between two positions sent to one page. A car moves about 14 m meanwhile. */
export const POSITION_PUBLISH_MS = 1_000;
/** Orders, or drivers, that one statement reads for live pages; 200 changes are two statements. */
export const MAX_LIVE_READS_PER_STATEMENT = 128;
/** Most such statements in flight, of each kind. With MAX_KEY_READS they are below DB_CONNECTIONS. */
export const MAX_LIVE_STATEMENTS = 2;
/** Most orders, or drivers, read for their live pages at once: as many as fill those statements. */
export const MAX_LIVE_READS = MAX_LIVE_READS_PER_STATEMENT * MAX_LIVE_STATEMENTS;
/** First pause before a failed read for a live page is tried again; it doubles with each failure. */
export const LIVE_READ_RETRY_MS = 500;
/** Longest pause before a failed read for a live page is tried again. Above LIVE_READ_RETRY_MS. */
export const LIVE_READ_RETRY_MAX_MS = 10_000;
/**
 * Largest error of a dropoff in meters at which an arrival is estimated. At least GEOCODER_ACCURACY_METERS
 * and below ZIP_ACCURACY_METERS: a street is good enough and the centroid of a ZIP is not.
 */
export const ARRIVAL_DROPOFF_METERS = 1_000;
/**
 * Largest error of a dropoff in meters at which the customer's map has a pin for it. Below
 * PROOF_DROPOFF_METERS: a pin in the next street reads as a wrong address.
 */
export const HOME_PIN_METERS = 150;
/** Age of the driver's position at which the customer's page says so. Above POSITION_FRESH_MS. */
export const DRIVER_UNHEARD_MS = 2 * 60_000;
/** Length of a road over the great circle; about 1.2 in a grid of streets, 1.6 around water and hills. */
export const ARRIVAL_DETOUR = 1.35;
/** Speed door to door where a town's traffic flows: 40 km/h. */
export const ARRIVAL_FAST_METERS_PER_SECOND = 11;
/** Speed door to door where it does not: 22 km/h. Below ARRIVAL_FAST_METERS_PER_SECOND. */
export const ARRIVAL_SLOW_METERS_PER_SECOND = 6;
/** Shortest time to fetch a parcel at the store. Below ARRIVAL_PICKUP_MS. */
export const MIN_PICKUP_MS = 60_000;
/** Longest usual time to fetch a parcel at the store. */
export const ARRIVAL_PICKUP_MS = 6 * 60_000;
/** Longest usual time to stop near the door and walk to it. */
export const ARRIVAL_HANDOVER_MS = 2 * 60_000;
/** A time of the clock nearer than this needs no day on the customer's page, also beyond midnight. */
export const CLOCK_WITHOUT_DAY_MS = 6 * 3_600_000;

// --- Routes ------------------------------------------------------------------------------------------------

/** Most active orders that one driver may carry; the table's check says the same. */
export const MAX_DRIVER_CAPACITY = 20;
/** Longest time ahead for which a driver says when they go home. */
export const MAX_DUTY_MS = 24 * 3_600_000;
/** Meters by road that a bike comes in a minute, door to door in a town. Below VAN_METERS_PER_MINUTE. */
export const BIKE_METERS_PER_MINUTE = 250;
/** The same for a van. Below CAR_METERS_PER_MINUTE. */
export const VAN_METERS_PER_MINUTE = 420;
/** The same for a car. */
export const CAR_METERS_PER_MINUTE = 480;
/** Orders of a route up to which every sequence of stops is tried: 2,520 of 4. Below MAX_DRIVER_CAPACITY. */
export const MAX_EXACT_PARCELS = 4;
/** Most rounds in which a longer route is improved; each round changes one thing. */
export const MAX_ROUTE_ROUNDS = 20;
/** Distance in meters up to which two pickups are one store, which a geocoder may place twice. */
export const SAME_PLACE_METERS = 60;
/** Distance from the store in meters up to which a driver with parcels on board still takes more there. */
export const AT_STORE_METERS = 150;
/** Time at a store for its parcels, however many. At most ARRIVAL_PICKUP_MS. */
export const STORE_STOP_MS = 3 * 60_000;
/** Time at a door. At most ARRIVAL_HANDOVER_MS. */
export const DOOR_STOP_MS = 2 * 60_000;
/** Share of the time to a door behind others after which it comes at the earliest. Below ROUTE_LATEST_SHARE. */
export const ROUTE_EARLIEST_SHARE = 0.75;
/** The same at the latest, as each stop may take longer. */
export const ROUTE_LATEST_SHARE = 1.4;
/** Most drivers on their way to a store, the nearest ones, whose routes are planned for one more order there. */
export const MAX_POOL_DRIVERS = 8;
/**
 * Most waiting orders of a store that are tried for a driver who goes there anyway with one, the oldest first;
 * fewer, in proportion, for one who carries more. A route of 4 takes 0.1 ms to plan, one of 20 some 10 ms.
 */
export const MAX_POOL_ORDERS = 32;

/** Time for which a tracking link works after its order ended, enough to look at the photo again. */
export const TRACKING_GONE_AFTER_MS = 7 * 24 * 3_600_000;
/** Most sockets of signed-in drivers in one process. */
export const MAX_DRIVER_SOCKETS = 10_000;
/**
 * Most sockets of drivers that have not signed in, beside those that have; one more cuts another one. Phones
 * need one round trip for it. Below MAX_DRIVER_SOCKETS.
 */
export const MAX_UNSIGNED_DRIVER_SOCKETS = 1_000;
/**
 * Most of them from one address; a mobile carrier has many phones behind one. Below
 * MAX_UNSIGNED_DRIVER_SOCKETS, so that no address takes all.
 */
export const MAX_UNSIGNED_SOCKETS_PER_ADDRESS = 250;
/** Most connections of one process, HTTP and sockets together. Above MAX_CONNECTIONS. */
export const MAX_OPEN_CONNECTIONS =
  MAX_CONNECTIONS + MAX_TRACKING_SOCKETS + MAX_DRIVER_SOCKETS + MAX_UNSIGNED_DRIVER_SOCKETS;
/**
 * Open files that connections leave to the process itself: those to databases, vendors and stores' webhooks,
 * and its own files. Where the limit is lower than twice that, half of it.
 */
export const OPEN_FILES_KEPT = 2_048;
/** Largest message of a driver's phone in bytes. A position has about 120. */
export const DRIVER_MESSAGE_BYTES = 1_024;
/** Longest time for a driver's socket to send its token. */
export const DRIVER_HELLO_MS = 5_000;
/** Interval at which a driver's page sends `ping`. */
export const DRIVER_PING_MS = 20_000;
/** Shortest time between two positions that a driver's page reports. A car moves about 30 m meanwhile. */
export const DRIVER_REPORT_MS = 2_000;
/** Interval at which a phone that stands still is asked. Two are below POSITION_FRESH_MS, so one may fail. */
export const DRIVER_ASK_MS = 25_000;
/**
 * Messages a second that a driver may send over their socket, positions over HTTP included. Above one every
 * DRIVER_REPORT_MS.
 */
export const DRIVER_MESSAGES_PER_SECOND = 5;
/** Messages it may send at once, as after a dead zone. Above DRIVER_MESSAGES_PER_SECOND. */
export const DRIVER_MESSAGE_BURST = 20;
/** Other requests a second that a driver may send over HTTP. The page sends one or two for each press. */
export const DRIVER_REQUESTS_PER_SECOND = 10;
/** Such requests they may send at once. Above DRIVER_REQUESTS_PER_SECOND. */
export const DRIVER_REQUEST_BURST = 40;
/** Malformed or surplus messages after which a driver's socket is closed. */
export const MAX_DRIVER_STRIKES = 50;
/** Size in bytes to which a driver's page shrinks a photo for slow links. Below MAX_PHOTO_BYTES. */
export const DRIVER_PHOTO_BYTES = 300 * 1024;
/**
 * Distance from the door, beyond what the fix is off, at which a driver's page asks whether they hand over
 * there. Above PROOF_DROPOFF_METERS and below DOOR_FAR_METERS, which holds the payout.
 */
export const HANDOVER_ASK_METERS = 300;
/** Most minutes that a phone's clock may be ahead of UTC or behind it; the last of all days ends at −12 h. */
export const MAX_UTC_OFFSET_MINUTES = 14 * 60;

// --- Drivers' phones: trackers, pushes and sign-in links ----------------------------------------------------
/**
 * Largest request of a tracking app, or with a sign-in link, in bytes; Traccar Client's have under 1,000. At
 * most MAX_UNAUTHENTICATED_BODY_BYTES, as its sender is known only by its last byte.
 */
export const MAX_PHONE_CALL_BYTES = 4 * 1024;
/** Interval in seconds at which a tracking app is told to report. Two are below POSITION_FRESH_MS. */
export const TRACKER_INTERVAL_SECONDS = 20;
/** Meters after which it is told to report sooner: a car makes them in about 4 s. */
export const TRACKER_DISTANCE_METERS = 50;
/** Time for which a sign-in link holds: a text is read, or a code is scanned, within it. */
export const SIGN_IN_LINK_SECONDS = 15 * 60;
/** Links of one network that may be wrong within a minute; then it waits for the rest of it. */
export const WRONG_LINKS_PER_MINUTE = 20;
/** Most networks whose wrong links are counted one by one, about 100 bytes each; all others count as one. */
export const MAX_NETWORKS_COUNTED = 10_000;
/** Most phones and browsers that ring for one driver; the newest stay. */
export const MAX_PUSH_SUBSCRIPTIONS = 3;
/** Seconds for which a push waits for a phone without network; a later one rings for an order long gone. */
export const PUSH_TTL_SECONDS = 120;
/** Longest send of a push. The vendors of phones take 0.1 to 0.5 s. */
export const PUSH_TIMEOUT_MS = 5_000;
/** Drivers whose phones one statement reads for pushes. */
export const MAX_PUSH_BATCH = 200;
/** Shortest time between two statements that read where drivers are rung. A phone takes seconds to ring. */
export const PUSH_READ_MS = 100;
/** Most drivers who wait for their push; beyond, pushes are dropped and counted. Above MAX_PUSH_BATCH. */
export const MAX_PUSHES_WAITING = 2_000;
/** Pushes that are sent at once. Below WEBHOOK_CONCURRENCY, which the client itself allows. */
export const PUSH_CONCURRENCY = 16;

// --- Outbox and queues -------------------------------------------------------------------------------------
/** Time for which the sweeper leaves a newly written row to the process that wrote it. */
export const OUTBOX_FIRST_LEASE_SECONDS = 30;
/** Time for which the sweeper leaves a row that it took itself, which has the same way to go. */
export const OUTBOX_HAND_OVER_SECONDS = OUTBOX_FIRST_LEASE_SECONDS;
/** Time for which the sweeper leaves a row that was handed over. Above all attempts of a job together. */
export const OUTBOX_LEASE_SECONDS = 15 * 60;
/** Most outbox rows in one hand-over, and in one statement that marks them. */
export const RELAY_BATCH = 500;
/** Longest time before it is due that a job is handed over; a later one waits for the sweeper. */
export const RELAY_AHEAD_MS = 5 * 60_000;
/** Longest time before they are due that rows are held so that they share a job. Below RELAY_AHEAD_MS. */
export const RELAY_SOON_MS = 60_000;
/**
 * Most rows held until they are due; the rest is left to the sweeper. A text of each order of a burst is one.
 */
export const RELAY_SOON_ROWS = 100_000;
/** Pause before a failed hand-over is tried again. */
export const RELAY_RETRY_MS = 500;
/** Most rows held for a failed hand-over; the rest is left to the sweeper. At least RELAY_BATCH. */
export const RELAY_HELD_ROWS = 5_000;
/** Age above which a row is not held any more. Below OUTBOX_FIRST_LEASE_SECONDS. */
export const RELAY_HELD_MS = 25_000;
/** Interval at which rows handed over are marked if not done. Two are below OUTBOX_FIRST_LEASE_SECONDS. */
export const RELAY_MARK_MS = 10_000;
/** Most owed jobs that are one job to BullMQ. More of them would wait for one worker beside idle ones. */
export const JOBS_PER_BATCH = 16;
/** Longest wait for a queue; then the call is made again later. */
export const QUEUE_DEADLINE_MS = 5_000;
/** Most jobs of a queue that wait, a kilobyte each; more stay in the outbox until half of them are done. */
export const MAX_QUEUED_JOBS = 10_000;
/** Jobs handed over between two counts of a queue. At least RELAY_BATCH, or a full one would never fit. */
export const QUEUE_CHECK_ROWS = 1_000;
/** Shortest time before a full queue is asked again. */
export const QUEUE_CHECK_MS = 1_000;
/** Lead of a machine's clock from which its queues delay no jobs, and the sweeper brings them back. */
export const MAX_WALL_CLOCK_LEAD_MS = 2_000;
/** Interval at which the sweeper looks for owed rows whose lease has ended. */
export const OUTBOX_SWEEP_MS = 5_000;
/** Most rows that one sweep takes. */
export const OUTBOX_SWEEP_ROWS = 1_000;
/** Pause before the next sweep where more rows are owed, or a command owes some. Below OUTBOX_SWEEP_MS. */
export const OUTBOX_SWEEP_SOON_MS = 250;
/** Leases that one statement ends after Redis has lost its jobs; a tenth of a second. */
export const END_LEASES_ROWS = 5_000;
/** Days for which done rows are kept for inspection. */
export const OUTBOX_KEPT_DAYS = 7;
/** Most rows that one statement prunes. */
export const OUTBOX_PRUNE_ROWS = 5_000;
/** Days for which drivers' actions are remembered, so that a repeated one gets its first answer. */
export const DRIVER_ACTIONS_KEPT_DAYS = 7;
/** Silence after which a connection to Redis is opened anew. Above the 10 s for which BullMQ blocks. */
export const REDIS_SILENCE_MS = 12_000;
/** Longest pause before a Redis that loads its data is asked again. Its own estimate can be 10 s and more. */
export const REDIS_LOADING_RETRY_MS = 500;
/** Connections of BullMQ where it runs on Postgres. Each worker keeps one to listen on. */
export const QUEUE_DB_CONNECTIONS = 16;
/** Longest query of BullMQ on Postgres; then its connection is closed. A cut network would keep it. */
export const QUEUE_QUERY_MS = 30_000;
/** Window in which the jobs of a store are counted for its share of a limited rate. */
export const SHARE_WINDOW_MS = 10_000;
/** Lowest priority of a job. Below 2^21, BullMQ's own bound. */
export const MAX_JOB_PRIORITY = 2_000_000;
/** Shortest time between two reports of one part that a backend is away. */
export const LOSS_REPORT_MS = 30_000;
/** Time after which a process notes again whether a vendor takes the credentials, as others note it, too. */
export const VENDOR_NOTE_MS = 60_000;

// --- Jobs --------------------------------------------------------------------------------------------------
/** Attempts of one job before it is left to the sweeper. */
export const JOB_ATTEMPTS = 8;
/** First pause of the exponential backoff. Eight attempts take about two minutes. */
export const JOB_BACKOFF_MS = 1_000;
/** Longest time a worker holds a job while the database is away; then it goes back to the queue. */
export const JOB_HELD_MS = 30_000;
/** Interval at which a held job asks whether the database is back. Below JOB_HELD_MS. */
export const JOB_HELD_RETRY_MS = 500;
/** Time after which a job whose lock was not renewed is run by another worker. */
export const JOB_LOCK_MS = 60_000;
/** Times a job may lose its worker, which it has then probably ended; then it is left to the sweeper. */
export const MAX_JOB_STALLS = 20;
/** Pause of a worker after a connection error. BullMQ's own is 15 s. */
export const WORKER_RETRY_MS = 1_000;
/** Charges that one worker process runs at once. At most VENDOR_SOCKETS, the connections to Stripe. */
export const CHARGE_CONCURRENCY = 320;
/**
 * Texts that one worker process sends at once. At most VENDOR_SOCKETS, the connections to Twilio. One that takes
 * 20 ms there waits up to twice JOB_GATHER_MS besides, so this many are 2,000 a second.
 */
export const SMS_CONCURRENCY = 256;
/** Redispatch jobs that one API process runs at once. */
export const REDISPATCH_CONCURRENCY = 8;
/** Most jobs that share one statement. At most NOTICE_IDS, as one notice names all of their orders. */
export const MAX_JOBS_PER_STATEMENT = 64;
/**
 * Shortest time between two such statements of a kind, unless one is full. A statement costs as much as ten of its
 * rows; a vendor takes longer for its answer. At most JOB_TICK_MS.
 */
export const JOB_GATHER_MS = 50;
/** Such statements in flight: one, because two that lock the same orders wait for each other. */
export const MAX_JOB_STATEMENTS = 1;
/** Attempts of a charge, the first one included; another one follows only a decline that may pass. */
export const MAX_PAYMENT_ATTEMPTS = 3;
/**
 * Time after which a charge is tried again that a bank declined for want of funds or by a limit, where neither it
 * nor the network names another. The last of MAX_PAYMENT_ATTEMPTS is a day later, when a limit of a day has ended.
 */
export const DECLINE_PAUSE_SECONDS = 12 * 3_600;
/** Declined charges that one statement makes owed again when their time has come. */
export const DUE_CHARGES_ROWS = 500;
/**
 * Declines of one card in CARD_WINDOW_SECONDS after which no charge is tried again on it. Networks fine tries
 * beyond 10; two are left for orders that are new, or tried by two workers in the same moment.
 */
export const MAX_CARD_DECLINES = 8;
/** Time for which the networks count the declines of a card. */
export const CARD_WINDOW_SECONDS = 24 * 3_600;
/** Shortest time for which a retry waits whose card has no room for another decline, and until it is asked about again. */
export const CARD_WAIT_SECONDS = 15 * 60;
/**
 * Attempts of one order's charge with all that an operator asked for. At least MAX_PAYMENT_ATTEMPTS and below
 * MAX_CHARGES_SEARCHED, or a look-up could miss one.
 */
export const MAX_PAYMENT_ATTEMPTS_EVER = 99;
/** Failed charges that one statement makes owed again, and waiting orders that one statement cancels. */
export const OPERATOR_BATCH = 500;
/** Age from which a charge is looked up, not sent. Below 24 hours, when Stripe may forget its key. */
export const STRIPE_KEY_SECONDS = 23 * 3_600;
/**
 * Time before STRIPE_KEY_SECONDS in which a charge is neither sent nor looked up: Stripe's search finds a
 * charge about a minute after it was made, or later in an outage of theirs. Below STRIPE_KEY_SECONDS. Also the time
 * after which a charge was never made whose failure Stripe repeats, and which it does not list.
 */
export const STRIPE_QUIET_SECONDS = 10 * 60;
/** Time after an order's end from which the operator's figures count a charge as not refunded. */
export const REFUND_MISSING_SECONDS = 60;
/**
 * Longest time from a send of unknown outcome to the next one, in seconds. Each such send doubles the time,
 * from the last of TEXT_LOOKUP_SECONDS on. At most OUTBOX_LEASE_SECONDS, after which the sweeper would hand
 * the job over again.
 */
export const MAX_TEXT_PAUSE_SECONDS = 15 * 60;
/** Longest time from counting a send to making it. At most the first look-up, which may have begun. */
export const TEXT_HELD_UP_MS = 10_000;
/** Time before its first send from which a text is looked up, as Twilio's clock may differ. */
export const TEXT_LOOKBACK_MS = 60 * 60_000;
/** Age of an order from which its confirmation is not sent any more. */
export const TEXT_USEFUL_SECONDS = 4 * 3_600;
/** Time from an order to its text, in seconds. An order cancelled within it is not texted. */
export const DEFAULT_SMS_DELAY_SECONDS = 5;
/** Longest such time that may be set, in seconds. At least DEFAULT_SMS_DELAY_SECONDS. */
export const MAX_SMS_DELAY_SECONDS = 60;
/** Texts to one phone a day (UTC): above what one customer orders, below what troubles the phone's owner. */
export const DEFAULT_SMS_PER_PHONE = 20;
/** Texts for one store a day (UTC). Above DEFAULT_SMS_PER_PHONE. */
export const DEFAULT_SMS_PER_STORE = 5_000;
/** Highest bounds of texts a day that may be set. At least DEFAULT_SMS_PER_STORE. */
export const MAX_SMS_PER_DAY = 1_000_000;
/** Days for which the counts of texts are kept. */
export const TEXT_COUNT_DAYS = 2;
/** Dropoffs that one worker process locates at once: as many as share a statement. */
export const LOCATE_CONCURRENCY = 64;
/**
 * Wait of a dropoff whose store asks for too many at once, and up to half its order's age more, so that the
 * backlog of one store asks less and less often.
 */
export const LOCATE_BUSY_SECONDS = 2;
/** Age of an order from which a geocoder that is away is not asked any more: most are delivered. */
export const LOCATE_USEFUL_SECONDS = 2 * 3_600;
/** Pause of a queue after a vendor's 429. */
export const VENDOR_PAUSE_MS = 1_000;

/**
 * Time from arrival to commit above which an order counts as slow, so that jobs of the same process yield to
 * orders. A commit takes 2 to 5 ms on a quick disk.
 */
export const SLOW_ORDER_MS = 20;
/** Interval at which jobs are handed over, and at which the number that may start follows the orders. */
export const JOB_TICK_MS = 50;
/** Most jobs that start in a tick while jobs yield; above it they do not yield any more. */
export const MAX_PACED_JOBS = 64;
/** Fewest jobs that start in a tick while jobs yield: 20 a second. Below MAX_PACED_JOBS. */
export const MIN_PACED_JOBS = 1;
/**
 * Longest time for which jobs yield that far. In a flood without end each second after that adds a job a
 * tick, up to MAX_PACED_JOBS.
 */
export const JOB_YIELD_MS = 60_000;

// --- Texts by kind, and callbacks of Twilio ----------------------------------------------------------------
/** Septets of a text in the GSM alphabet that is one segment. A segment more costs as much again. */
export const TEXT_SEPTETS = 160;
/** Septets of each segment where there are several, whose headers take the rest. Below TEXT_SEPTETS. */
export const TEXT_SEGMENT_SEPTETS = 153;
/** Most segments of a text whose store's name is in the GSM alphabet. */
export const MAX_TEXT_SEGMENTS = 2;
/** Most characters of a store's name in a text. */
export const MAX_TEXT_STORE_NAME = 40;
/** Age from which a text that the driver is on the way is not sent any more: most have arrived. */
export const ON_THE_WAY_USEFUL_SECONDS = 3_600;
/**
 * Largest callback of Twilio in bytes. A text of 1,600 characters, each escaped as nine, has 15 KB. At most
 * MAX_UNAUTHENTICATED_BODY_BYTES, as its sender is known only by its last byte.
 */
export const MAX_TWILIO_CALL_BYTES = 24 * 1024;
/** Most parameters of a callback of Twilio. One with ten pictures has under 60. */
export const MAX_TWILIO_PARAMETERS = 100;
/** Time after which Twilio is asked again, by a text, whether a phone that it refused still wants none. */
export const OPT_OUT_ASKED_AGAIN_SECONDS = 24 * 3_600;
/**
 * Pause before a text is sent again whose sender carriers refused: an operator registers the number, and each try
 * costs. It doubles with each refusal of the text. Also how long a number has to be refused no more before a text
 * that arrives ends its alarm: one carrier may take what another one refuses.
 */
export const SENDER_REFUSED_PAUSE_SECONDS = 15 * 60;
/** Longest such pause, so that a text is sent within an hour of the mend. Below TEXT_USEFUL_SECONDS. */
export const MAX_SENDER_REFUSED_PAUSE_SECONDS = 3_600;
/** Messages of a phone that are remembered, so that one which Twilio sends again changes nothing. */
export const OPT_OUT_MESSAGES_KEPT = 10;
/** Time from a text to the news that its phone has it, at the stand-in for Twilio. */
export const STAND_IN_DELIVERS_MS = 300;
/** Most calls that the stand-in has yet to make; the oldest is dropped for one more. */
export const MAX_STAND_IN_CALLS = 2_000;
/** Interval at which the stand-in makes a call, so that a load test does not become one of callbacks. */
export const STAND_IN_CALL_MS = 20;
/** Attempts of a call of the stand-in. Twilio makes at most six. */
export const STAND_IN_CALL_ATTEMPTS = 6;
/** First pause after a failed attempt; it doubles. All of them together take 16 s, Twilio's at most 15. */
export const STAND_IN_CALL_RETRY_MS = 500;
/** Longest attempt of such a call. */
export const STAND_IN_CALL_TIMEOUT_MS = 5_000;

// --- Webhooks ----------------------------------------------------------------------------------------------
/** Longest attempt of a webhook, name resolution included. Receivers should answer first, work later. */
export const WEBHOOK_TIMEOUT_MS = 5_000;
/** Longest wait for a name server, which is asked twice. Both attempts are below WEBHOOK_TIMEOUT_MS. */
export const WEBHOOK_DNS_TIMEOUT_MS = 1_500;
/** Wait for a name's other address family once one is known. Below WEBHOOK_DNS_TIMEOUT_MS. */
export const WEBHOOK_DNS_GRACE_MS = 500;
/** Most bytes read of a receiver's reply, of which only the status counts; then the connection is cut. */
export const MAX_WEBHOOK_REPLY_BYTES = 64 * 1024;
/** Longest URL of a webhook in characters, a length that browsers and servers all accept. */
export const MAX_WEBHOOK_URL_LENGTH = 2_000;
/** Webhooks that one worker process sends at once. */
export const WEBHOOK_CONCURRENCY = 64;
/** Webhooks of one store sent at once. Below WEBHOOK_CONCURRENCY: its slow receivers delay only their own. */
export const MAX_WEBHOOKS_PER_STORE = 16;
/** Webhooks of one endpoint sent at once. Below MAX_WEBHOOKS_PER_STORE: one that is down leaves places free. */
export const MAX_WEBHOOKS_PER_ENDPOINT = 8;
/** Answers that take this long make a receiver count as slow until one takes less. Below WEBHOOK_TIMEOUT_MS. */
export const WEBHOOK_SLOW_MS = 1_000;
/** Webhooks to slow receivers sent at once. Below WEBHOOK_CONCURRENCY: half of the places are for quick ones. */
export const MAX_SLOW_WEBHOOKS = WEBHOOK_CONCURRENCY / 2;
/** Those of one store: an eighth of all places. Below MAX_SLOW_WEBHOOKS. */
export const MAX_SLOW_WEBHOOKS_PER_STORE = 8;
/**
 * Webhooks that wait for a place, one of each endpoint; further ones are parked. With MAX_SLOW_WEBHOOKS below
 * WEBHOOK_CONCURRENCY, so that what waits for slow receivers keeps no worker from quick ones.
 */
export const MAX_WEBHOOKS_IN_LINE = 16;
/** Receivers whose last answer's time a worker remembers, 100 bytes each. */
export const RECEIVERS_REMEMBERED = 10_000;
/** Time after which a parked delivery comes up by itself. If it finds no place it is given up, so a backlog is bounded. */
export const WEBHOOK_PARKED_SECONDS = 86_400;
/** Parked deliveries that an accepted one releases, so that a backlog that moves has twice as many each time. */
export const WEBHOOKS_RELEASED = 2;
/** Most receivers with parked deliveries that one sweep tries. At most OUTBOX_SWEEP_ROWS. */
export const RECEIVERS_PER_SWEEP = 500;
/** Time after which a disabled webhook's parked deliveries are given up: a pause by hand loses none. */
export const WEBHOOK_ENDED_SECONDS = 900;
/** Most parked deliveries that a statement gives up; a third of a second. */
export const PARKED_ENDED_ROWS = 5_000;
/** Most parked deliveries that a scrape counts, or a list for one webhook; 10 ms. */
export const PARKED_COUNTED = 50_000;
/** Receivers behind which deliveries wait that a command lists. */
export const RECEIVERS_LISTED = 50;
/** Largest random addition to a pause of WEBHOOK_RETRY_SECONDS, as a share of it. */
export const WEBHOOK_JITTER = 0.1;
/** Time of failures without a success after which an endpoint is disabled. */
export const WEBHOOK_DISABLE_SECONDS = 86_400;
/** Time for which a delivery is tried. Above WEBHOOK_DISABLE_SECONDS: its last failure may disable. */
export const WEBHOOK_TRIED_SECONDS = WEBHOOK_DISABLE_SECONDS + 600;
/** Time of failures after which an endpoint is left alone for a quarter of that time. */
export const WEBHOOK_HOLD_AFTER_SECONDS = 60;
/** Longest time for which a failing endpoint is left alone. */
export const WEBHOOK_HOLD_MAX_SECONDS = 900;
/** Deliveries that a new or enabled webhook makes due at once; a tenth of a second. The rest keeps its time. */
export const WEBHOOKS_DUE_ROWS = 5_000;
/** Days for which deliveries are kept to be listed and replayed. Above WEBHOOK_TRIED_SECONDS. */
export const WEBHOOK_KEPT_DAYS = 30;
/** Webhooks that a store may have set with its key, or an organization with its own; the operator's counts. */
export const MAX_WEBHOOKS_SET = 5;
/** Times a minute that an owner may add, change, rotate or remove webhooks in one process. Each may relay much. */
export const WEBHOOK_CHANGES_PER_MINUTE = 20;
/** Tests of webhooks of one owner a minute in one process: enough by hand, and too few to search for ports. */
export const WEBHOOK_TESTS_PER_MINUTE = 10;
/** Deliveries that an owner may replay in an hour in one process: those of a bad day, by a script. */
export const WEBHOOK_REPLAYS_PER_HOUR = 1_000;
/** Longest test of a webhook. At most WEBHOOK_TIMEOUT_MS, so that a delivery has the time that a test had. */
export const WEBHOOK_TEST_TIMEOUT_MS = 5_000;
/** Time for which a webhook is signed by the secret before its last one too. */
export const WEBHOOK_OLD_SECRET_SECONDS = 86_400;

// --- Numbered events ---------------------------------------------------------------------------------------
/** Most events that one statement gives numbers, with their webhooks; about 30 ms. */
export const EVENTS_PER_STATEMENT = 1_000;
/** Pause between two such statements, so that the events of many commits share one. */
export const EVENT_TURN_MS = 100;
/** The same pause while jobs yield to orders. Above EVENT_TURN_MS; 2,000 events a second still get numbers. */
export const EVENT_YIELD_MS = 500;
/** Interval at which the writer looks for events whose notice was lost. Above EVENT_YIELD_MS. */
export const EVENT_SWEEP_MS = 2_000;
/** Days for which events are kept. */
export const EVENTS_KEPT_DAYS = 30;
/** Most events without a number that a scrape of the metrics counts; about 10 ms. */
export const EVENTS_COUNTED = 100_000;
/** Longest time in seconds for which a reader may wait for events. */
export const MAX_EVENT_WAIT_SECONDS = 20;
/**
 * Longest time to the reply of such a request. Above MAX_EVENT_WAIT_SECONDS, with QUERY_DEADLINE_MS for the
 * statements before and after the wait.
 */
export const EVENTS_DEADLINE_MS = MAX_EVENT_WAIT_SECONDS * 1_000 + 2 * QUERY_DEADLINE_MS + 1_000;
/** Interval at which a process with such readers looks for events whose notice was lost. */
export const EVENT_REREAD_MS = 5_000;
/** Most readers that wait in one process; one more gets 503. Below MAX_REQUESTS_IN_FLIGHT. */
export const MAX_EVENT_WAITS = 2_000;
/** Most of them of one store; one more gets 429. Below MAX_EVENT_WAITS. A store needs one, or two at a change. */
export const MAX_EVENT_WAITS_PER_STORE = 5;

// --- Settings ----------------------------------------------------------------------------------------------
/** Time for which a reply waits for its charge by default. */
export const DEFAULT_PAYMENT_WAIT_MS = 3_000;
/** Longest time for which a reply may be set to wait for its charge. Below REQUEST_DEADLINE_MS. */
export const MAX_PAYMENT_WAIT_MS = 10_000;
/** Most replies that wait for a charge; one more says `processing` at once. Below MAX_REQUESTS_IN_FLIGHT. */
export const MAX_PAYMENT_WAITERS = 2_000;
/** Waits in a row without a result after which replies stop waiting, until one probe has a result. */
export const PAYMENT_WAIT_MISSES = 5;
/** Orders a second that a store may create by default. Two cores sustain a few hundred for all stores. */
export const DEFAULT_STORE_RATE = 50;
/** Reads a second that a store may make by default. One that asks for every new order again has half of it. */
export const DEFAULT_READ_RATE = 100;
/** Unpaid orders in a row after which a store's further ones wait, by default. */
export const DEFAULT_UNPAID_ORDERS_ALLOWED = 3;
/** Most unpaid orders that may be allowed. Above DEFAULT_UNPAID_ORDERS_ALLOWED. */
export const MAX_UNPAID_ORDERS_ALLOWED = 1_000;
/** Highest rate of orders a second that a store may be set to. */
export const MAX_STORE_RATE = 10_000;
/** Orders that a driver may give back within an hour by default; then they have to wait. */
export const DEFAULT_RELEASES_PER_HOUR = 10;
/** Most releases within an hour that a driver may be allowed. Above DEFAULT_RELEASES_PER_HOUR. */
export const MAX_RELEASES_PER_HOUR = 1_000;
/**
 * Charges a second by default, and as many refunds, each an endpoint of its own to Stripe. Look-ups of charges are
 * counted with them. Stripe takes more once it is asked to; VENDOR_SOCKETS carry 160 of 2 s each.
 */
export const DEFAULT_STRIPE_RATE = 25;
/** The same with a key of Stripe's test mode, which has one bound for all endpoints. Below DEFAULT_STRIPE_RATE. */
export const DEFAULT_STRIPE_TEST_RATE = 12;
/** Texts a second by default: what Twilio sends from one US long code. */
export const DEFAULT_TWILIO_RATE = 1;
/** Highest rate of requests a second that a vendor may be set to. */
export const MAX_VENDOR_RATE = 10_000;
/** Simulated drivers in the sandbox by default. */
export const DEFAULT_SIMULATED_DRIVERS = 20;
/** Most simulated drivers. They run on this machine, and more would take it from the service. */
export const MAX_SIMULATED_DRIVERS = 200;

// --- Vendors -----------------------------------------------------------------------------------------------
/** Longest call to Stripe. A charge takes 1 to 3 s, or 10 s at a slow bank. */
export const STRIPE_TIMEOUT_MS = 20_000;
/** Payments that a search for an order's charges returns at most. Above MAX_PAYMENT_ATTEMPTS. */
export const MAX_CHARGES_SEARCHED = 100;
/** Payments of one customer that are listed at most to find one; a store with more has its search, a day later. */
export const MAX_CHARGES_LISTED = 1_000;
/** Time by which the list begins before a charge was sent. Above MAX_CLOCK_DIFFERENCE_MS. */
export const LISTED_EARLIER_SECONDS = 300;
/** Longest call to Twilio. A message is accepted in well under a second. */
export const TWILIO_TIMEOUT_MS = 10_000;
/** Last messages of a phone that are searched for one that may have been sent. */
export const MAX_MESSAGES_SEARCHED = 50;
/**
 * Connections to one vendor. A charge of 300 ms holds one, so they carry a thousand such charges a second.
 */
export const VENDOR_SOCKETS = 320;
/** Blocks of 10,000 phones whose country is remembered, 100 bytes each. A big city has about a thousand. */
export const MAX_PHONE_BLOCKS = 20_000;
/** Time after which an unused connection to a vendor is closed. Below the 60 s of their servers. */
export const VENDOR_SOCKET_IDLE_MS = 30_000;
/** Largest reply of a vendor in bytes. A page of MAX_MESSAGES_SEARCHED messages has about 60 KB. */
export const MAX_VENDOR_REPLY_BYTES = 1024 * 1024;
/**
 * Longest wait for the geocoder while a store waits for its reply: up to half of it in line, the rest for the
 * call. Below LOCATE_TIMEOUT_MS.
 */
export const GEOCODER_TIMEOUT_MS = 500;
/**
 * Longest wait for the geocoder by a job or a command: half of it in line, as above. That half is above
 * PUBLIC_GEOCODER_PACE_MS, so that the addresses of an import are asked for one after the other.
 */
export const LOCATE_TIMEOUT_MS = 5_000;
/** Most calls to the geocoder at once. A store has at most as many as are free: half where it is alone. */
export const MAX_GEOCODER_REQUESTS = 8;
/**
 * Most addresses of one store that wait for such a call; one more goes without an answer. Below
 * LOCATE_CONCURRENCY, so that the jobs of one store leave room for those of others.
 */
export const MAX_GEOCODER_WAITING_PER_STORE = 48;
/** Most addresses whose answers are kept, about 200 bytes each. */
export const MAX_GEOCODER_CACHE = 10_000;
/**
 * Most addresses of one store whose answers are kept, also where none was found. Below MAX_GEOCODER_CACHE, so
 * that invented addresses do not push out those of others.
 */
export const MAX_GEOCODER_CACHE_PER_STORE = 2_000;
/** Time for which the point of an address is kept. Addresses do not move. */
export const GEOCODER_FOUND_MS = 24 * 60 * 60_000;
/** Time for which it is kept that an address was not found. Below GEOCODER_FOUND_MS, as maps grow. */
export const GEOCODER_NOT_FOUND_MS = 10 * 60_000;
/** Least time between two calls to the public Nominatim, which its usage policy asks for. */
export const PUBLIC_GEOCODER_PACE_MS = 1_000;
/** Error assumed of a geocoder's point that states none: a street, in meters. Above PROOF_DROPOFF_METERS. */
export const GEOCODER_ACCURACY_METERS = 1_000;
/** Least error assumed of a ZIP's centroid in meters. A ZIP is 3 km across in a town, tens of them elsewhere. */
export const ZIP_ACCURACY_METERS = 10_000;
/**
 * Error assumed of a pickup that only the store's own point stands for: another place in its town. Above
 * ZIP_ACCURACY_METERS.
 */
export const FALLBACK_ACCURACY_METERS = 50_000;

// --- Photos ------------------------------------------------------------------------------------------------
/** Longest side of a stored photo in pixels, sharp on a phone. Below MAX_PHOTO_SIDE. */
export const STORED_PHOTO_SIDE = 2_048;
/** Shorter side in pixels below which a photo shows nothing. Below STORED_PHOTO_SIDE; a phone's has 480 or more. */
export const BLANK_PHOTO_SIDE = 100;
/**
 * Largest standard deviation of a colour, of 255, in a picture of one colour: what a covered lens' noise leaves
 * where the picture is made as small as BLANK_PHOTO_SAMPLE. A bare wall has about 5, a door at night 10.
 */
export const BLANK_PHOTO_DEVIATION = 3;
/** Side in pixels of the square to which a photo is shrunk to see whether it shows anything, in about 12 ms. */
export const BLANK_PHOTO_SAMPLE = 32;
/** Most photos that wait while one is decoded; all fit MAX_BUFFERED_PHOTO_BYTES. One more gets 503. */
export const MAX_PHOTO_QUEUE = 8;
/**
 * Longest wait of a photo for its decoding; then it gets 503. With PHOTO_TIMEOUT_SECONDS it is below
 * REQUEST_DEADLINE_MS.
 */
export const PHOTO_WAIT_MS = 4_000;
/** Wait of a driver after a photo that could not be used; it doubles with each further one. */
export const PHOTO_REFUSED_WAIT_MS = 1_000;
/** Longest such wait. Above PHOTO_REFUSED_WAIT_MS. */
export const PHOTO_REFUSED_WAIT_MAX_MS = 60_000;
/** Time after which a refused photo is forgotten. Above PHOTO_REFUSED_WAIT_MAX_MS. */
export const PHOTO_REFUSED_KEPT_MS = 10 * 60_000;
/** Most drivers whose refused photos are remembered, about 100 bytes each; then the oldest are forgotten. */
export const MAX_PHOTO_REFUSALS_KEPT = 10_000;
/** Longest decoding of a photo; then it is refused. 24 megapixels take about 1 s. */
export const PHOTO_TIMEOUT_SECONDS = 10;
/** Longest silence of the photo bucket. A photo takes 0.1 to 1 s. */
export const PHOTO_BUCKET_SILENCE_MS = 3_000;
/** Most attempts of a request to the bucket: a second one where a connection broke or it was busy. */
export const PHOTO_BUCKET_ATTEMPTS = 2;
/**
 * Longest time to store or read a photo in the bucket. Above PHOTO_BUCKET_SILENCE_MS times
 * PHOTO_BUCKET_ATTEMPTS; with the statement that follows and a usual decoding below REQUEST_DEADLINE_MS.
 */
export const PHOTO_BUCKET_DEADLINE_MS = 7_000;
/**
 * Most bytes of encoded photos that could not be stored and are kept for their next upload, so that it is not
 * encoded again: dozens, one of a driver. At least MAX_PHOTO_BYTES.
 */
export const MAX_KEPT_PHOTO_BYTES = 32 * 1024 * 1024;
/** Time after its last upload for which such a photo is kept. A phone sends again within minutes. */
export const KEPT_PHOTO_MS = 15 * 60_000;
/** Connections to the bucket, each of which carries one photo at a time. */
export const PHOTO_BUCKET_SOCKETS = 32;

// --- Credentials -------------------------------------------------------------------------------------------
/** Time for which a key or token is kept in memory, and so works on after it was revoked. Orders recheck. */
export const CREDENTIAL_KEEP_MS = 1_000;
/**
 * Time after which a store's key is looked up again even where every notice was heard: the worst that a change
 * without a notice can cost. A store that is suspended has its orders refused by their commit all the same.
 */
export const CREDENTIAL_REREAD_MS = 60_000;
/**
 * Time for which a key that was good is told 503 without a new look-up, which would take long under that
 * load. Above CREDENTIAL_KEEP_MS.
 */
export const CREDENTIAL_REMEMBERED_MS = 10_000;
/** Most keys, and most tokens, kept in memory. */
export const MAX_CREDENTIALS_KEPT = 50_000;
/** Most keys that one statement reads: as many as a commit has orders. */
export const MAX_KEYS_PER_STATEMENT = MAX_COMMIT_BATCH;
/** Most such statements in flight. */
export const MAX_KEY_READS = 4;
/**
 * Most keys, and most tokens, whose hashes' beginnings are held, about 60 bytes each, so that a made-up one is
 * told from them. With more it is looked up, as at an interruption. Above MAX_CREDENTIALS_KEPT.
 */
export const MAX_SECRETS_KNOWN = 500_000;
/** Keys or tokens that one statement reads of them. Below MAX_SECRETS_KNOWN. */
export const SECRETS_PART = 50_000;
/**
 * Unknown keys, and as many tokens, that are looked up a second while notices do not arrive; another one gets
 * 503. A guesser takes no more of the database than that.
 */
export const MAX_UNKNOWN_LOOK_UPS = 100;
/** Longest wait for a process's own notice; then notices do not arrive. Below QUERY_DEADLINE_MS. */
export const FEED_WORD_MS = 1_000;
/**
 * Time between two such notices that say up to when all were heard, while stores ask. A quarter of
 * CREDENTIAL_KEEP_MS, so that one may be late.
 */
export const FEED_HEARD_MS = 250;
/** Pause between two such notices, which all unknown keys of that time share. */
export const FEED_WORD_PAUSE_MS = 20;

// --- Rotated keys, organizations and imports ---------------------------------------------------------------
/** Longest time for which a rotated key goes on, in seconds: a release of the store's own software. */
export const MAX_KEY_OVERLAP_SECONDS = 7 * 86_400;
/** Most keys of a store that go on beside its newest one; another rotation with an overlap is refused. */
export const MAX_OVERLAPPING_KEYS = 2;
/** Most ended keys that one statement marks as revoked. */
export const ENDED_KEYS_ROWS = 500;
/** Most stores of an organization. A read of all of them goes along the index of each. */
export const MAX_ORGANIZATION_STORES = 1_000;
/** Most keys of an organization that are good, overlapping ones included: one for each system that reads. */
export const MAX_ORGANIZATION_KEYS = 10;
/** Most organizations' keys kept in memory, with up to 60 KB of stores' ids each. */
export const MAX_ORGANIZATION_KEYS_KEPT = 500;
/**
 * Orders of each store that a page of an organization's list looks at, where LIST_SCAN_ROWS shared among its
 * stores would be fewer. With MAX_ORGANIZATION_STORES it looks at 20,000, in under 0.1 s. Below LIST_SCAN_ROWS.
 */
export const LIST_SCAN_ROWS_PER_STORE = 20;
/** Fewest characters of a short id: with fewer a word of hexadecimal letters would be one. */
export const MIN_SHORT_ID_LENGTH = 4;
/** Seconds between two looks of a command that watches, unless it says otherwise. At most MAX_WATCH_SECONDS. */
export const DEFAULT_WATCH_SECONDS = 2;
/** Most seconds between two looks of a command that watches: an hour. */
export const MAX_WATCH_SECONDS = 3_600;
/** Largest file of an import in bytes. Ten thousand stores have a third of it. */
export const MAX_IMPORT_BYTES = 4 * 1024 * 1024;
/** Most lines of one import, its header aside. */
export const MAX_IMPORT_LINES = 10_000;
/** Longest number that a chain gives a store, in characters. */
export const MAX_STORE_EXTERNAL_ID_LENGTH = 100;

// --- Start and stop ----------------------------------------------------------------------------------------
/** Longest time for one part to close; then it is left behind. */
export const CLOSE_DEADLINE_MS = 3_000;
/** Longest wait of a stop for requests in flight. With CLOSE_DEADLINE_MS below STOP_DEADLINE_MS. */
export const DRAIN_MS = 3_500;
/**
 * Time for which a stop says so in `/readyz` before it refuses anything: a balancer that looks each second has
 * looked twice. With STOP_DEADLINE_MS below the 10 s after which Docker kills a process by default.
 */
export const DEFAULT_STOP_NOTICE_SECONDS = 2;
/** Longest such time, for balancers that look twice a minute. At least DEFAULT_STOP_NOTICE_SECONDS. */
export const MAX_STOP_NOTICE_SECONDS = 60;
/** Longest stop from then on; then the process ends. */
export const STOP_DEADLINE_MS = 7_500;
/** Longest wait of a stop for jobs under way; then others do them. Below CLOSE_DEADLINE_MS. */
export const JOB_FINISH_MS = 2_500;
/**
 * Time between two sockets of a kind that come back after a stop, so that the process that is left gets 333 a
 * second. All MAX_TRACKING_SOCKETS are back within a minute.
 */
export const SOCKET_RETURN_MS = 3;
/** Time within which a second SIGINT is the same one: behind npm a terminal's Ctrl-C arrives twice. */
export const SIGNAL_ECHO_MS = 2_000;
/** Interval at which an API process without Redis checks that it is the only one. */
export const API_LOCK_CHECK_MS = 5_000;

// --- Command line ------------------------------------------------------------------------------------------
/** Rows on a page of a list command by default. */
export const LIST_LIMIT = 200;
/** Most rows on a page of a list command. At least LIST_LIMIT. */
export const MAX_LIST_LIMIT = 1_000;
/** Rows behind a page that are counted; of more the list says "more than". */
export const LIST_COUNTED = 1_000;
/** Most statements that count them: one for each rank of a list, and a part more. */
export const LIST_COUNT_STEPS = 5;
/** Orders, or webhook deliveries, that the first statement of a search looks at; most searches end there. */
export const LIST_FIRST_PART = 5_000;
/** Those that each later one looks at, in about 0.1 s. Above LIST_FIRST_PART. */
export const LIST_PART = 50_000;
/** Most stores, or drivers, that a filter by a part of a name may mean. */
export const MAX_NAMED = 100;
/** Days by which an order's id, which holds the time of its making, may differ from the time on record. */
export const LIST_CLOCK_DAYS = 1;
/** Connections of one command. */
export const DB_CONNECTIONS_CLI = 1;

// --- Sandbox: embedded Postgres ----------------------------------------------------------------------------
/** Longest wait for initdb. It takes a second, or ten on a slow disk. */
export const POSTGRES_INIT_MS = 120_000;
/** Longest wait for the embedded Postgres to accept connections. After a crash it replays its log first. */
export const POSTGRES_READY_MS = 120_000;
/** Time for which a start is tried again while the processes of a killed Postgres free what they hold. */
export const POSTGRES_RETRY_MS = 30_000;
/** Pause between two such attempts. */
export const POSTGRES_RETRY_PAUSE_MS = 100;
/** Most attempts to make the user of the embedded Postgres. A user is made in 0.1 s, one after the other. */
export const POSTGRES_USER_TRIES = 50;
/** Interval at which the state of a starting or stopping Postgres is read. */
export const POSTGRES_POLL_MS = 10;
/** Interval at which a start that takes long says so. */
export const POSTGRES_TELL_MS = 2_000;
/** Longest wait for an orderly stop of the embedded Postgres. */
export const POSTGRES_FAST_STOP_MS = 5_000;
/** Longest wait for an immediate stop after that, and then for its end by force. */
export const POSTGRES_IMMEDIATE_STOP_MS = 2_000;
/** Size in bytes above which the log of the embedded Postgres is emptied. */
export const POSTGRES_LOG_BYTES = 4 * 1024 * 1024;
/** Interval at which the size of that log is checked. */
export const POSTGRES_LOG_CHECK_MS = 60_000;
/** Connections of the embedded Postgres. Above the pools of two processes, with room for psql. */
export const POSTGRES_CONNECTIONS = 100;
/** Longest run of `ps` or `setpriv`. */
export const PROCESS_TOOL_MS = 2_000;
/** Time after which a claim on the data folder that is still empty counts as left by a process that died. */
export const CLAIM_WRITTEN_MS = 2_000;

// --- Callbacks of Stripe -----------------------------------------------------------------------------------
/**
 * Largest callback of Stripe in bytes. A dispute carries up to 150,000 characters of evidence, of 6 bytes each
 * where they are escaped. Below MAX_DISCARDED_BODY_BYTES, and so far below MAX_BODY_BYTES_PER_CALLER, which
 * bounds what a network sends with a signature that is only well formed.
 */
export const MAX_STRIPE_EVENT_BYTES = 1_000 * 1024;
/** Longest `Stripe-Signature` header, in characters. With two secrets at Stripe it has about 160. */
export const MAX_SIGNATURE_LENGTH = 1_024;
/** Time in seconds that Stripe's signature is taken, as Stripe advises; a retry is signed anew. */
export const STRIPE_SIGNATURE_SECONDS = 300;
/** Callbacks that one process works at; others wait for their turn. Most of the time they wait for Stripe. */
export const MAX_CALLBACKS_AT_WORK = 16;
/** Longest look-up at Stripe for a callback. Two are below REQUEST_DEADLINE_MS. */
export const STRIPE_LOOK_UP_TIMEOUT_MS = 5_000;
/** Most refunds of one payment that are read. A refund of a fee in more parts is left to its own callbacks. */
export const MAX_REFUNDS_LISTED = 100;
/**
 * Age of a charge in seconds from which a failure that Stripe tells of makes its job ask at once. A younger one
 * is asked soon anyway. Below the time after which its JOB_ATTEMPTS are used up and it waits for its lease.
 */
export const LATE_CHARGE_SECONDS = 60;
/** Most events that the stand-in keeps until they are taken; further ones are dropped. */
export const MAX_STAND_IN_EVENTS = 10_000;
/** Deliveries of events that the stand-in makes at once. */
export const STAND_IN_EVENTS_AT_ONCE = 8;
/** Tries of an event before the stand-in gives it up. */
export const STAND_IN_EVENT_TRIES = 12;
/** Pause of the stand-in after the first failed try of an event; each further one is twice as long. */
export const STAND_IN_EVENT_BACKOFF_MS = 50;
/** Longest wait of the stand-in for the answer to an event. Above REQUEST_DEADLINE_MS. */
export const STAND_IN_EVENT_TIMEOUT_MS = 20_000;

// --- Sandbox: stand-ins and simulated drivers --------------------------------------------------------------
/** Largest request to a stand-in in bytes. */
export const MAX_STAND_IN_BODY_BYTES = 256 * 1024;
/** Time until the stand-in's search finds a payment: what Stripe's search takes on a good day. */
export const STAND_IN_SEARCH_LAG_MS = 60_000;
/** Most records of each kind (payments, keys, messages) that a stand-in remembers, about 500 bytes each. */
export const MAX_STAND_IN_RECORDS = 20_000;
/** Size in bytes at which a ledger file is set aside; it replaces the one set aside before. */
export const MAX_LEDGER_BYTES = 8 * 1024 * 1024;
/** Most faults that can be ordered from a stand-in in advance. */
export const MAX_STAND_IN_FAULTS = 10_000;
/** Longest latency or delay that can be ordered from a stand-in. */
export const MAX_STAND_IN_DELAY_MS = 120_000;
/** Most webhooks that the demo store remembers, the last ones. */
export const MAX_WEBHOOKS_REMEMBERED = 100;
/** Largest difference of a webhook's time from its receiver's clock, as Standard Webhooks' libraries have. */
export const WEBHOOK_TOLERANCE_SECONDS = 300;
/**
 * Longest wait of an order where drivers are simulated, whatever its tier allows. A released one waits
 * longer.
 */
export const SANDBOX_MAX_WAIT_SECONDS = 600;
/** Waiting orders for each simulated driver: what they take in a minute. The sandbox expires a surplus. */
export const SANDBOX_ORDERS_PER_DRIVER = 2;
/** Age at which a waiting order counts as surplus then. Below SANDBOX_MAX_WAIT_SECONDS. */
export const SANDBOX_SURPLUS_AGE_MS = 10_000;
/**
 * Newest waiting orders that are no surplus, and as many that were asked for again: those of a person who
 * tries the sandbox after a load test.
 */
export const SANDBOX_KEPT_ORDERS = 4;
/** Most surplus orders that one statement expires, in about half a second. */
export const SANDBOX_TIDY_ORDERS = 2_000;
/**
 * Waiting orders above which one such statement follows the other although orders arrive. Far below
 * MAX_WAITING_ORDERS.
 */
export const SANDBOX_CROWDED_ORDERS = 30_000;
/** Interval of these statements while orders arrive; afterwards one follows the other. */
export const SANDBOX_TIDY_MS = 1_000;
/** Interval at which a simulated driver moves and reports. */
export const SIMULATED_TICK_MS = 1_000;
/** Speed of a simulated driver: a motorway's, so that a demonstration takes a minute. */
export const SIMULATED_SPEED_METERS_PER_SECOND = 25;
/** Time in which a simulated driver wants to make a leg; for a longer way they hurry. */
export const SIMULATED_LEG_MS = 60_000;
/** Speed of one who hurries. Below PLAUSIBLE_METERS_PER_SECOND, so that no payout is held for it. */
export const SIMULATED_TOP_METERS_PER_SECOND = 38;
/** Shortest time from the assignment to the end of a simulated order. Above MIN_DELIVERY_MS. */
export const SIMULATED_DELIVERY_MS = 35_000;
/** Pause before a simulated driver whose socket closed connects again. */
export const SIMULATED_RETRY_MS = 2_000;
/** Longest request of a simulated driver. */
export const SIMULATED_REQUEST_MS = 10_000;

// --- Bounds of others, which those above have to fit -------------------------------------------------------
/** Earliest time at which the transport cuts a silent connection; the latest is 12 s. */
const TRANSPORT_SILENCE_MS = 8_000;
/** Size below which Postgres accepts a notice, in bytes. */
const POSTGRES_NOTICE_BYTES = 8_000;
/** Process id, kind and colons that stand before the ids of a notice, at most. */
const NOTICE_HEADER_BYTES = 32;
/** A UUID and a comma. */
const NOTICE_ID_BYTES = 37;
/** What a notice tells of a new order: two UUIDs, four coordinates, four times and a slot, with what parts them. */
const NOTICE_GIVEN_BYTES = 2 * 40 + 4 * 26 + 4 * 18 + 12;
/** Largest page of a list that its schema allows, in orders. */
const LARGEST_PAGE = 100;
/** Time for which a network that was cut may still deliver what it kept. */
const NETWORK_HOLDS_MS = 120_000;
/** Time for which BullMQ has Redis block while a worker waits for jobs. */
const BULLMQ_BLOCK_MS = 10_000;
/** First priority that BullMQ refuses. */
const BULLMQ_PRIORITIES = 2 ** 21;
/** Requests a second that Stripe takes of one endpoint, and in test mode of all. */
const STRIPE_ENDPOINT_RATE = 25;
/** Declines of a card in a day beyond which its network fines each try. */
const NETWORK_DECLINES = 10;
/** Time after which Stripe may forget an idempotency key. */
const STRIPE_FORGETS_SECONDS = 24 * 3_600;
/** Usual time of a charge at Stripe, in seconds. */
const CHARGE_SECONDS = 2;
/** Time after which vendors' servers close an unused connection. */
const VENDOR_KEEP_ALIVE_MS = 60_000;
/** Time after which Docker kills a container that was told to stop. */
const DOCKER_STOP_MS = 10_000;

// --- Lists (last: a bundler inlines only the figures before the first of them) -----------------------------
/** Failed jobs kept in a queue for inspection: age in seconds and count. The outbox row is kept as well. */
export const KEEP_FAILED_JOBS = { age: 7 * 86_400, count: 10_000 };
/**
 * Times after a first send of unknown outcome at which the text is looked up, in seconds. Twilio may accept a
 * send that late. The last one is above TEXT_HELD_UP_MS and TWILIO_TIMEOUT_MS together: no send is under way
 * any more.
 */
export const TEXT_LOOKUP_SECONDS = [10, 60] as const;
/** Pauses after the failures of a delivery, in seconds; the last one repeats. */
export const WEBHOOK_RETRY_SECONDS = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400] as const;

// --- Relations ---------------------------------------------------------------------------------------------
type Figure = Readonly<Record<string, number>>;

/** Throws an error that names both figures where the first is not less than the second. */
function below(smaller: Figure, larger: Figure): void {
  check(smaller, 'be below', larger, (a, b) => a < b);
}

/** Throws an error that names both figures where the first is greater than the second. */
function atMost(smaller: Figure, larger: Figure): void {
  check(smaller, 'be at most', larger, (a, b) => a <= b);
}

function check(one: Figure, verb: string, other: Figure, holds: (a: number, b: number) => boolean): void {
  const [[name, value]] = Object.entries(one) as [[string, number]];
  const [[otherName, otherValue]] = Object.entries(other) as [[string, number]];
  if (!holds(value, otherValue)) {
    throw new RangeError(`limits.ts: ${name} (${value}) must ${verb} ${otherName} (${otherValue})`);
  }
}

function assertRelations(): void {
  // HTTP
  atMost({ 'a list by MAX_EXTERNAL_ID_LENGTH characters': 12 * MAX_EXTERNAL_ID_LENGTH + 400 }, { MAX_TARGET_LENGTH });
  below({ BODY_DEADLINE_MS }, { TRANSPORT_SILENCE_MS });
  below({ TRANSPORT_SILENCE_MS }, { UNSENT_FORGOTTEN_MS });
  below({ 'KEEP_ALIVE_SECONDS in ms': KEEP_ALIVE_SECONDS * 1_000 }, { TRANSPORT_SILENCE_MS });
  atMost({ MAX_JSON_BYTES }, { MAX_BUFFERED_BODY_BYTES });
  atMost({ MAX_PHOTO_BYTES }, { MAX_UNSENT_BYTES_PER_NETWORK });
  below({ MAX_UNSENT_BYTES_PER_NETWORK }, { MAX_UNSENT_BYTES });
  below({ MAX_WAITING_BODIES_PER_CALLER }, { MAX_REQUESTS_IN_FLIGHT });
  below({ MAX_PHOTO_BYTES }, { MAX_BODY_BYTES_PER_CALLER });
  atMost({ 'eight times MAX_BODY_BYTES_PER_CALLER': 8 * MAX_BODY_BYTES_PER_CALLER }, { MAX_BUFFERED_BODY_BYTES });
  below({ MAX_ORDER_WAIT_MS }, { MAX_COMMIT_WAIT_MS });
  below({ MAX_ORDERS_PER_BATCH }, { MAX_COMMIT_BATCH });
  below({ MAX_JSON_BYTES }, { MAX_BATCH_BYTES });
  atMost(
    { 'bytes of MAX_BATCHES_PER_STORE': 100 * MAX_BATCHES_PER_STORE * MAX_BATCH_BYTES },
    { MAX_BUFFERED_BODY_BYTES },
  );
  atMost({ BATCH_ORDERS_IN_LINE }, { MAX_ORDERS_PER_BATCH });
  atMost({ MIN_UNSTORED_ORDERS }, { MAX_COMMIT_BATCH });
  below({ DROPOFF_CHANGES_PER_MINUTE }, { MAX_DROPOFF_CHANGES });
  below({ MAX_SANDBOX_FAILED_LINES }, { MAX_FAILED_LINES });
  below({ REQUEST_LOG_WRITE_BYTES }, { REQUEST_LOG_BYTES });

  // Database
  below({ STATEMENT_TIMEOUT_MS }, { QUERY_DEADLINE_MS });
  below({ QUERY_DEADLINE_MS }, { REQUEST_DEADLINE_MS });
  below({ CLOCK_ROUND_TRIP_MS }, { CLOCK_SYNC_MS });
  below({ STRIPE_TIMEOUT_MS }, { CHECK_TIMEOUT_MS });
  below({ PUBLIC_CHECK_MS }, { CHECK_TIMEOUT_MS });

  // Group commit
  below({ SLOW_COMMIT_MS }, { MAX_COMMIT_WAIT_MS });
  below(
    { 'MAX_COMMIT_WAIT_MS + 2 × QUERY_DEADLINE_MS': MAX_COMMIT_WAIT_MS + 2 * QUERY_DEADLINE_MS },
    { REQUEST_DEADLINE_MS },
  );
  below(
    { 'MAX_COMMIT_WAIT_MS + QUERY_DEADLINE_MS + RESOLVE_MS': MAX_COMMIT_WAIT_MS + QUERY_DEADLINE_MS + RESOLVE_MS },
    { REQUEST_DEADLINE_MS },
  );
  below({ RESOLVE_PAUSE_MS }, { RESOLVE_MS });
  below(
    { 'NOTICE_IDS with their header in bytes': NOTICE_IDS * NOTICE_ID_BYTES + NOTICE_HEADER_BYTES },
    { POSTGRES_NOTICE_BYTES },
  );
  const noticeOrderBytes = NOTICE_ID_BYTES + NOTICE_GIVEN_BYTES;
  below(
    { 'NOTICE_ORDERS with their header in bytes': NOTICE_ORDERS * noticeOrderBytes + NOTICE_HEADER_BYTES },
    { POSTGRES_NOTICE_BYTES },
  );
  below({ REQUEST_DEADLINE_MS }, { DEDUP_KEPT_MS });

  // Matching and drivers
  below({ CELL_MERGE_MEMBERS }, { CELL_SPLIT_MEMBERS });
  below({ PLANNER_BEYOND_SHARE }, { one: 1 });
  below({ PLANNER_ORDERED_STOPS }, { PLANNER_MAX_STOPS });
  below({ LEAST_PLANNED_ORDERS }, { MAX_PLANNED_ORDERS });
  below({ PLANNER_LOOK_SOON_MS }, { PLANNER_LOOK_MS });
  below({ PLANNER_LOOK_MS }, { PLANNER_PASS_MS });
  below({ PLANNER_TURN_MS }, { PLANNER_LOOK_SOON_MS });
  below({ PLANNER_LEASE_RENEW_MS }, { PLANNER_LEASE_MS });
  below({ PLANNER_LEASE_MARGIN_MS }, { PLANNER_LEASE_MS });
  below({ PLAN_TOLD_MS }, { ESTIMATE_MOVED_MS });
  below({ ROUTER_TIMEOUT_MS }, { ROAD_ROUND_MS });
  below({ ROUTER_PAUSE_MS }, { MAX_ROUTER_PAUSE_MS });
  below({ ROAD_TABLE_STEP }, { ROAD_TABLE_PLACES });
  below({ CAR_METERS_PER_MINUTE }, { ROAD_FASTEST_METERS_PER_MINUTE });
  below({ QUERY_DEADLINE_MS }, { SET_ASIDE_MS });
  below({ MAX_WAITING_ORDERS_PER_RETAILER }, { MAX_WAITING_ORDERS });
  const roadMetersPerSecond = { 'WAY_METERS_PER_MINUTE on the road': (WAY_METERS_PER_MINUTE * ARRIVAL_DETOUR) / 60 };
  below({ ARRIVAL_SLOW_METERS_PER_SECOND }, roadMetersPerSecond);
  below(roadMetersPerSecond, { ARRIVAL_FAST_METERS_PER_SECOND });
  atMost({ AGE_STEP_MS }, { AGE_DECIDES_MS });
  below({ FAIR_SHARE_MS }, { MAX_FAIR_LEAD_MS });
  atMost({ BATCH_CANDIDATES }, { MAX_BATCH });
  below({ TIMES_GRACE_MS }, { MIN_WINDOW_MS });
  atMost({ MIN_WINDOW_MS }, { 'MIN_PROMISE_MINUTES in ms': MIN_PROMISE_MINUTES * 60_000 });
  atMost({ MIN_PROMISE_MINUTES }, { DEFAULT_PROMISE_MINUTES });
  below({ DEFAULT_PROMISE_MINUTES }, { MAX_PROMISE_MINUTES });
  below({ MAX_APPROACH_MS }, { MIN_WINDOW_MS });
  atMost({ CLOCK_ROUND_TRIP_MS }, { DUE_TOLERANCE_MS });
  below({ DUE_TOLERANCE_MS }, { DUE_SOON_MS });
  atMost({ '2 × MAX_LATER_ORDERS': 2 * MAX_LATER_ORDERS }, { MAX_WAITING_ORDERS });
  atMost(
    { '2 × MAX_LATER_ORDERS_PER_RETAILER': 2 * MAX_LATER_ORDERS_PER_RETAILER },
    { MAX_WAITING_ORDERS_PER_RETAILER },
  );
  below({ STATEMENT_TIMEOUT_MS }, { LIST_OVERLAP_MS });
  below({ LARGEST_PAGE }, { LIST_SCAN_ROWS });
  below({ LIST_STATEMENT_MS }, { LIST_DEADLINE_MS });
  below({ LIST_DEADLINE_MS }, { QUERY_DEADLINE_MS });
  below({ MAX_LISTS_PER_STORE }, { LIST_DB_CONNECTIONS });
  below({ LIST_WAIT_MS }, { REQUEST_DEADLINE_MS });
  below({ POSITION_FRESH_MS }, { DRIVER_SILENT_MS });
  below({ PROOF_DROPOFF_METERS }, { DOOR_FAR_METERS });
  atMost({ CUSTOMER_SHOWN_METERS }, { STILL_AT_PICKUP_METERS });
  atMost({ '2 × STILL_AT_PICKUP_METERS': 2 * STILL_AT_PICKUP_METERS }, { NEIGHBOUR_METERS });
  below({ NEIGHBOUR_METERS }, { DOOR_FAR_METERS });
  below({ POSITION_FRESH_MS }, { RECEIPT_POSITION_MS });
  below({ MAX_CLOCK_LEAD_MS }, { STAMP_SKEW_MS });
  below({ STAMP_SKEW_MS }, { STAMP_KEPT_MS });
  below({ RELEASE_PAUSE_SECONDS }, { RELEASE_COUNTED_SECONDS });

  // What is told of plans
  below({ PLAN_STEP_MS }, { PLAN_PAST_MS });
  below({ STATS_LATE_MS }, { STATS_MS });

  // Between processes
  below({ MAX_FEED_BATCH }, { MAX_FEED_PENDING });
  below({ 'GIVEN_FRESH_MS + CLOCK_ROUND_TRIP_MS': GIVEN_FRESH_MS + CLOCK_ROUND_TRIP_MS }, { HEARD_ORDERS_MS });
  below({ 'NETWORK_HOLDS_MS + STATEMENT_TIMEOUT_MS': NETWORK_HOLDS_MS + STATEMENT_TIMEOUT_MS }, { UNKNOWN_OUTCOME_MS });

  // Live pages
  const socketIdleMs = { 'SOCKET_IDLE_SECONDS in ms': SOCKET_IDLE_SECONDS * 1_000 };
  below({ MAX_SOCKETS_PER_ORDER }, { MAX_TRACKING_SOCKETS });
  below({ MAX_TRACKING_LOOKUPS_PER_ADDRESS }, { MAX_TRACKING_SOCKETS });
  below({ MAX_CONNECTIONS }, { MAX_OPEN_CONNECTIONS });
  below({ TRACKING_PING_MIN_MS }, { TRACKING_QUIET_MS });
  below({ TRACKING_QUIET_MS }, { TRACKING_PING_MS });
  below({ '2 × TRACKING_PING_MS': 2 * TRACKING_PING_MS }, socketIdleMs);
  below({ '2 × DRIVER_PING_MS': 2 * DRIVER_PING_MS }, socketIdleMs);
  below({ '2 × MAX_LIVE_STATEMENTS + MAX_KEY_READS': 2 * MAX_LIVE_STATEMENTS + MAX_KEY_READS }, { DB_CONNECTIONS });
  below({ LIVE_READ_RETRY_MS }, { LIVE_READ_RETRY_MAX_MS });
  atMost({ GEOCODER_ACCURACY_METERS }, { ARRIVAL_DROPOFF_METERS });
  below({ ARRIVAL_DROPOFF_METERS }, { ZIP_ACCURACY_METERS });
  below({ HOME_PIN_METERS }, { PROOF_DROPOFF_METERS });
  below({ POSITION_FRESH_MS }, { DRIVER_UNHEARD_MS });
  below({ ARRIVAL_SLOW_METERS_PER_SECOND }, { ARRIVAL_FAST_METERS_PER_SECOND });
  below({ MIN_PICKUP_MS }, { ARRIVAL_PICKUP_MS });
  below({ BIKE_METERS_PER_MINUTE }, { VAN_METERS_PER_MINUTE });
  below({ VAN_METERS_PER_MINUTE }, { CAR_METERS_PER_MINUTE });
  below({ ROUTE_EARLIEST_SHARE }, { ROUTE_LATEST_SHARE });
  below({ MAX_EXACT_PARCELS }, { MAX_DRIVER_CAPACITY });
  atMost({ STORE_STOP_MS }, { ARRIVAL_PICKUP_MS });
  atMost({ DOOR_STOP_MS }, { ARRIVAL_HANDOVER_MS });
  below({ '2 × DRIVER_ASK_MS': 2 * DRIVER_ASK_MS }, { POSITION_FRESH_MS });
  below({ 'reports a second': 1_000 / DRIVER_REPORT_MS }, { DRIVER_MESSAGES_PER_SECOND });
  below({ DRIVER_MESSAGES_PER_SECOND }, { DRIVER_MESSAGE_BURST });
  below({ DRIVER_REQUESTS_PER_SECOND }, { DRIVER_REQUEST_BURST });
  below({ MAX_UNSIGNED_DRIVER_SOCKETS }, { MAX_DRIVER_SOCKETS });
  below({ MAX_UNSIGNED_SOCKETS_PER_ADDRESS }, { MAX_UNSIGNED_DRIVER_SOCKETS });
  below({ PROOF_DROPOFF_METERS }, { HANDOVER_ASK_METERS });
  below({ HANDOVER_ASK_METERS }, { DOOR_FAR_METERS });
  below({ DRIVER_PHOTO_BYTES }, { MAX_PHOTO_BYTES });
  atMost({ MAX_PHONE_CALL_BYTES }, { MAX_UNAUTHENTICATED_BODY_BYTES });
  below({ '2 × TRACKER_INTERVAL_SECONDS in ms': 2 * TRACKER_INTERVAL_SECONDS * 1_000 }, { POSITION_FRESH_MS });
  below({ MAX_PUSH_BATCH }, { MAX_PUSHES_WAITING });
  below({ PUSH_CONCURRENCY }, { WEBHOOK_CONCURRENCY });
}

function assertJobRelations(): void {
  // Outbox, queues and jobs
  const firstLeaseMs = { 'OUTBOX_FIRST_LEASE_SECONDS in ms': OUTBOX_FIRST_LEASE_SECONDS * 1_000 };
  const jobMs = JOB_BACKOFF_MS * (2 ** (JOB_ATTEMPTS - 1) - 1) + JOB_ATTEMPTS * STRIPE_TIMEOUT_MS;
  below(
    { 'JOB_ATTEMPTS with their JOB_BACKOFF_MS and STRIPE_TIMEOUT_MS': jobMs },
    { 'OUTBOX_LEASE_SECONDS in ms': OUTBOX_LEASE_SECONDS * 1_000 },
  );
  atMost({ RELAY_BATCH }, { RELAY_HELD_ROWS });
  below({ RELAY_HELD_MS }, firstLeaseMs);
  below({ '2 × RELAY_MARK_MS': 2 * RELAY_MARK_MS }, firstLeaseMs);
  atMost({ RELAY_BATCH }, { QUEUE_CHECK_ROWS });
  below({ OUTBOX_SWEEP_SOON_MS }, { OUTBOX_SWEEP_MS });
  below({ BULLMQ_BLOCK_MS }, { REDIS_SILENCE_MS });
  below({ MAX_JOB_PRIORITY }, { BULLMQ_PRIORITIES });
  below({ JOB_HELD_RETRY_MS }, { JOB_HELD_MS });
  below({ MIN_PACED_JOBS }, { MAX_PACED_JOBS });
  atMost({ CHARGE_CONCURRENCY }, { VENDOR_SOCKETS });
  atMost({ SMS_CONCURRENCY }, { VENDOR_SOCKETS });
  atMost({ MAX_JOBS_PER_STATEMENT }, { NOTICE_IDS });
  atMost({ JOB_GATHER_MS }, { JOB_TICK_MS });
  below({ STRIPE_KEY_SECONDS }, { STRIPE_FORGETS_SECONDS });
  below({ MAX_CARD_DECLINES }, { NETWORK_DECLINES });
  below({ STRIPE_QUIET_SECONDS }, { STRIPE_KEY_SECONDS });
  atMost({ TEXT_HELD_UP_MS }, { 'TEXT_LOOKUP_SECONDS[0] in ms': TEXT_LOOKUP_SECONDS[0] * 1_000 });
  below(
    { 'TEXT_HELD_UP_MS + TWILIO_TIMEOUT_MS': TEXT_HELD_UP_MS + TWILIO_TIMEOUT_MS },
    { 'TEXT_LOOKUP_SECONDS[1] in ms': TEXT_LOOKUP_SECONDS[1] * 1_000 },
  );
  atMost({ MAX_TEXT_PAUSE_SECONDS }, { OUTBOX_LEASE_SECONDS });
  below({ SENDER_REFUSED_PAUSE_SECONDS }, { MAX_SENDER_REFUSED_PAUSE_SECONDS });
  below({ MAX_SENDER_REFUSED_PAUSE_SECONDS }, { TEXT_USEFUL_SECONDS });
  below({ TEXT_SEGMENT_SEPTETS }, { TEXT_SEPTETS });
  atMost({ MAX_TWILIO_CALL_BYTES }, { MAX_UNAUTHENTICATED_BODY_BYTES });
  below({ RELAY_SOON_MS }, { RELAY_AHEAD_MS });
  below({ MAX_GEOCODER_WAITING_PER_STORE }, { LOCATE_CONCURRENCY });

  // Webhooks
  below({ '2 × WEBHOOK_DNS_TIMEOUT_MS': 2 * WEBHOOK_DNS_TIMEOUT_MS }, { WEBHOOK_TIMEOUT_MS });
  below({ WEBHOOK_DNS_GRACE_MS }, { WEBHOOK_DNS_TIMEOUT_MS });
  below({ MAX_WEBHOOKS_PER_STORE }, { WEBHOOK_CONCURRENCY });
  below({ MAX_WEBHOOKS_PER_ENDPOINT }, { MAX_WEBHOOKS_PER_STORE });
  below({ WEBHOOK_SLOW_MS }, { WEBHOOK_TIMEOUT_MS });
  below({ MAX_SLOW_WEBHOOKS }, { WEBHOOK_CONCURRENCY });
  below({ MAX_SLOW_WEBHOOKS_PER_STORE }, { MAX_SLOW_WEBHOOKS });
  below(
    { 'MAX_SLOW_WEBHOOKS + MAX_WEBHOOKS_IN_LINE': MAX_SLOW_WEBHOOKS + MAX_WEBHOOKS_IN_LINE },
    { WEBHOOK_CONCURRENCY },
  );
  atMost({ RECEIVERS_PER_SWEEP }, { OUTBOX_SWEEP_ROWS });
  atMost({ WEBHOOK_TEST_TIMEOUT_MS }, { WEBHOOK_TIMEOUT_MS });
  below({ WEBHOOK_DISABLE_SECONDS }, { WEBHOOK_TRIED_SECONDS });
  below({ WEBHOOK_TRIED_SECONDS }, { 'WEBHOOK_KEPT_DAYS in seconds': WEBHOOK_KEPT_DAYS * 86_400 });

  // Where idle drivers wait
  below({ DEMAND_REFRESH_MS }, { PLANNER_DEMAND_MS });
  below({ PLANNER_DEMAND_MS }, { DEMAND_BACK_MS });
  below({ 'PLANNER_WAIT_WAY_MINUTES in ms': PLANNER_WAIT_WAY_MINUTES * 60_000 }, { IDLE_WAIT_MS });
  below({ IDLE_WAIT_MS }, { IDLE_WAIT_PAUSE_MS });

  // Numbered events
  below({ EVENT_TURN_MS }, { EVENT_YIELD_MS });
  below({ EVENT_YIELD_MS }, { EVENT_SWEEP_MS });
  below(
    {
      'MAX_EVENT_WAIT_SECONDS in ms + 2 × QUERY_DEADLINE_MS': MAX_EVENT_WAIT_SECONDS * 1_000 + 2 * QUERY_DEADLINE_MS,
    },
    { EVENTS_DEADLINE_MS },
  );
  below({ MAX_EVENT_WAITS }, { MAX_REQUESTS_IN_FLIGHT });
  below({ MAX_EVENT_WAITS_PER_STORE }, { MAX_EVENT_WAITS });

  // Settings, vendors and photos
  atMost({ DEFAULT_PAYMENT_WAIT_MS }, { MAX_PAYMENT_WAIT_MS });
  below({ MAX_PAYMENT_WAIT_MS }, { REQUEST_DEADLINE_MS });
  below({ MAX_PAYMENT_WAITERS }, { MAX_REQUESTS_IN_FLIGHT });
  atMost({ DEFAULT_STORE_RATE }, { MAX_STORE_RATE });
  atMost({ DEFAULT_READ_RATE }, { MAX_STORE_RATE });
  below({ DEFAULT_RELEASES_PER_HOUR }, { MAX_RELEASES_PER_HOUR });
  atMost({ DEFAULT_STRIPE_RATE }, { STRIPE_ENDPOINT_RATE });
  atMost({ '2 × DEFAULT_STRIPE_TEST_RATE': 2 * DEFAULT_STRIPE_TEST_RATE }, { STRIPE_ENDPOINT_RATE });
  below({ DEFAULT_STRIPE_TEST_RATE }, { DEFAULT_STRIPE_RATE });
  atMost({ DEFAULT_TWILIO_RATE }, { MAX_VENDOR_RATE });
  atMost({ DEFAULT_WATCH_SECONDS }, { MAX_WATCH_SECONDS });
  atMost({ DEFAULT_SIMULATED_DRIVERS }, { MAX_SIMULATED_DRIVERS });
  atMost({ DEFAULT_SMS_DELAY_SECONDS }, { MAX_SMS_DELAY_SECONDS });
  below({ DEFAULT_SMS_PER_PHONE }, { DEFAULT_SMS_PER_STORE });
  atMost({ DEFAULT_SMS_PER_STORE }, { MAX_SMS_PER_DAY });
  atMost({ 'charges in flight at DEFAULT_STRIPE_RATE': DEFAULT_STRIPE_RATE * CHARGE_SECONDS }, { VENDOR_SOCKETS });
  below({ MAX_PAYMENT_ATTEMPTS }, { MAX_CHARGES_SEARCHED });
  atMost({ MAX_PAYMENT_ATTEMPTS }, { MAX_PAYMENT_ATTEMPTS_EVER });
  below({ MAX_CLOCK_DIFFERENCE_MS }, { 'LISTED_EARLIER_SECONDS in ms': LISTED_EARLIER_SECONDS * 1_000 });
  below({ MAX_PAYMENT_ATTEMPTS_EVER }, { MAX_CHARGES_SEARCHED });
  below(
    { 'attempts of MAX_STORE_CHARGE_RETRIES': (1 + MAX_STORE_CHARGE_RETRIES) * MAX_PAYMENT_ATTEMPTS },
    { MAX_PAYMENT_ATTEMPTS_EVER },
  );
  below({ DEFAULT_UNPAID_ORDERS_ALLOWED }, { MAX_UNPAID_ORDERS_ALLOWED });
  below({ VENDOR_SOCKET_IDLE_MS }, { VENDOR_KEEP_ALIVE_MS });
  below({ GEOCODER_TIMEOUT_MS }, { LOCATE_TIMEOUT_MS });
  below({ PUBLIC_GEOCODER_PACE_MS }, { 'LOCATE_TIMEOUT_MS / 2': LOCATE_TIMEOUT_MS / 2 });
  below({ MAX_GEOCODER_CACHE_PER_STORE }, { MAX_GEOCODER_CACHE });
  below({ GEOCODER_NOT_FOUND_MS }, { GEOCODER_FOUND_MS });
  below({ ZIP_ACCURACY_METERS }, { FALLBACK_ACCURACY_METERS });
  below({ PROOF_DROPOFF_METERS }, { GEOCODER_ACCURACY_METERS });
  below({ STORED_PHOTO_SIDE }, { MAX_PHOTO_SIDE });
  below({ BLANK_PHOTO_SIDE }, { STORED_PHOTO_SIDE });
  below({ BLANK_PHOTO_SAMPLE }, { BLANK_PHOTO_SIDE });
  atMost(
    { 'bytes of MAX_PHOTO_QUEUE photos and one': (MAX_PHOTO_QUEUE + 1) * MAX_PHOTO_BYTES },
    { MAX_BUFFERED_PHOTO_BYTES },
  );
  below(
    { 'PHOTO_WAIT_MS + PHOTO_TIMEOUT_SECONDS in ms': PHOTO_WAIT_MS + PHOTO_TIMEOUT_SECONDS * 1_000 },
    { REQUEST_DEADLINE_MS },
  );
  atMost({ MAX_PHOTO_BYTES }, { MAX_KEPT_PHOTO_BYTES });
  below({ PHOTO_REFUSED_WAIT_MS }, { PHOTO_REFUSED_WAIT_MAX_MS });
  below({ PHOTO_REFUSED_WAIT_MAX_MS }, { PHOTO_REFUSED_KEPT_MS });
  below(
    { 'PHOTO_BUCKET_ATTEMPTS × PHOTO_BUCKET_SILENCE_MS': PHOTO_BUCKET_ATTEMPTS * PHOTO_BUCKET_SILENCE_MS },
    { PHOTO_BUCKET_DEADLINE_MS },
  );
  below(
    { 'PHOTO_BUCKET_DEADLINE_MS + QUERY_DEADLINE_MS': PHOTO_BUCKET_DEADLINE_MS + QUERY_DEADLINE_MS },
    { REQUEST_DEADLINE_MS },
  );

  // Callbacks of Stripe
  below({ MAX_STRIPE_EVENT_BYTES }, { MAX_DISCARDED_BODY_BYTES });
  below({ '2 × STRIPE_LOOK_UP_TIMEOUT_MS': 2 * STRIPE_LOOK_UP_TIMEOUT_MS }, { REQUEST_DEADLINE_MS });
  below(
    { LATE_CHARGE_SECONDS },
    { 'pauses between JOB_ATTEMPTS in s': (JOB_BACKOFF_MS * (2 ** (JOB_ATTEMPTS - 1) - 1)) / 1_000 },
  );
  below({ REQUEST_DEADLINE_MS }, { STAND_IN_EVENT_TIMEOUT_MS });

  // Credentials, start and stop, sandbox
  below({ SANDBOX_CROWDED_ORDERS }, { MAX_WAITING_ORDERS });
  below({ SIMULATED_TOP_METERS_PER_SECOND }, { PLAUSIBLE_METERS_PER_SECOND });
  below({ MIN_DELIVERY_MS }, { SIMULATED_DELIVERY_MS });
  below({ SANDBOX_SURPLUS_AGE_MS }, { 'SANDBOX_MAX_WAIT_SECONDS in ms': SANDBOX_MAX_WAIT_SECONDS * 1_000 });
  below({ CREDENTIAL_KEEP_MS }, { CREDENTIAL_REMEMBERED_MS });
  below({ CREDENTIAL_KEEP_MS }, { CREDENTIAL_REREAD_MS });
  below({ 'twice FEED_HEARD_MS': 2 * FEED_HEARD_MS }, { CREDENTIAL_KEEP_MS });
  below({ ROUGH_POSITION_METERS }, { MAX_ACCURACY_METERS });
  below({ MAX_CREDENTIALS_KEPT }, { MAX_SECRETS_KNOWN });
  below({ SECRETS_PART }, { MAX_SECRETS_KNOWN });
  below({ FEED_WORD_MS }, { QUERY_DEADLINE_MS });
  below({ LIST_SCAN_ROWS_PER_STORE }, { LIST_SCAN_ROWS });
  below({ 'DRAIN_MS + CLOSE_DEADLINE_MS': DRAIN_MS + CLOSE_DEADLINE_MS }, { STOP_DEADLINE_MS });
  below(
    { 'STOP_DEADLINE_MS after DEFAULT_STOP_NOTICE_SECONDS': STOP_DEADLINE_MS + DEFAULT_STOP_NOTICE_SECONDS * 1_000 },
    { DOCKER_STOP_MS },
  );
  atMost({ DEFAULT_STOP_NOTICE_SECONDS }, { MAX_STOP_NOTICE_SECONDS });
  below({ JOB_FINISH_MS }, { CLOSE_DEADLINE_MS });
  atMost(
    { 'SOCKET_RETURN_MS of MAX_TRACKING_SOCKETS': SOCKET_RETURN_MS * MAX_TRACKING_SOCKETS },
    { MINUTE_MS: 60_000 },
  );
  atMost({ LIST_LIMIT }, { MAX_LIST_LIMIT });
  below({ LIST_FIRST_PART }, { LIST_PART });
  below(
    {
      'pools of two processes':
        2 * (DB_CONNECTIONS + LIST_DB_CONNECTIONS + MAX_COMMITS_IN_FLIGHT + QUEUE_DB_CONNECTIONS),
    },
    { POSTGRES_CONNECTIONS },
  );
}

// Pure to a bundler, so that the pages, which use a few of these figures, carry none of this.
/* @__PURE__ */ assertRelations();
/* @__PURE__ */ assertJobRelations();
