/**
 * The bounds that several folders share, or that an operator reads of, with their units and reasons. Every other
 * bound stands in the file that it serves. What an operator may set is in `config.ts`.
 *
 * A comment that puts one bound above or below another states a relation. It is asserted below the bounds, in the file
 * that knows both, at every start; where no file does, `test/limits.test.ts` does it.
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
/** Longest time from a whole body to its reply; then 503, or 504 where the outcome is unknown. */
export const REQUEST_DEADLINE_MS = 15_000;
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
/** Most HTTP connections of one process, WebSockets aside; one more is closed at once. */
export const MAX_CONNECTIONS = 2 * MAX_REQUESTS_IN_FLIGHT;
/**
 * Most bytes of JSON bodies, and of photos, held of one store, organization or driver, or of one network without
 * a key; a body that does not fit is refused with 503. An eighth of MAX_BUFFERED_BODY_BYTES, so that no slow
 * sender takes the others' room. Above MAX_PHOTO_BYTES.
 */
export const MAX_BODY_BYTES_PER_CALLER = 16 * 1024 * 1024;
/** Most bytes buffered of a body before its sender is authenticated; the upload pauses until then. */
export const MAX_UNAUTHENTICATED_BODY_BYTES = MAX_JSON_BYTES;
/** `Retry-After` of a 429 or 503 where no later time is known. */
export const RETRY_AFTER_SECONDS = 1;

// --- Fields of a request (lengths in Unicode code points) --------------------------------------------------
/** Longest name of a person. The longest ones on record are shorter. */
export const MAX_NAME_LENGTH = 200;
/** Longest e-mail address. RFC 5321 allows 254 octets, and no text has more code points than octets. */
export const MAX_EMAIL_LENGTH = 254;
/** Longest `Idempotency-Key`, in printable ASCII. A UUID has 36 characters. */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

// --- Optional fields of an order (lengths in Unicode code points) ------------------------------------------
/** Longest instructions for the pickup or for the dropoff; a driver reads them standing, on a phone. */
export const MAX_INSTRUCTIONS_LENGTH = 500;

// --- Fields of a driver's reports --------------------------------------------------------------------------
/**
 * Accuracy in meters from which a position is rough: a phone that gives away only about where it is says 1 to 5 km,
 * and one that looks for satellites among houses rarely over 500 m.
 */
export const ROUGH_POSITION_METERS = 1_000;
/** Largest accuracy of a position in meters. A phone on cell towers alone is off by up to 35 km. */
export const MAX_ACCURACY_METERS = 100_000;

// --- Database ----------------------------------------------------------------------------------------------
/** Longest wait for a statement. Below REQUEST_DEADLINE_MS, so that the caller hears what became of it. */
export const QUERY_DEADLINE_MS = 5_000;
/** Time after which Postgres ends a statement. Below QUERY_DEADLINE_MS, so that its outcome is known. */
export const STATEMENT_TIMEOUT_MS = 4_500;
/** Connections of one process to Postgres for all statements but those named at PROCESS_DB_CONNECTIONS. */
export const DB_CONNECTIONS = 10;
/** Connections of one process for lists of orders, which may be slow and must not delay anything else. */
export const LIST_DB_CONNECTIONS = 4;
/** Longest measurement that counts, as its error is half its length. Below CLOCK_SYNC_MS. */
export const CLOCK_ROUND_TRIP_MS = 1_000;

// --- Group commit ------------------------------------------------------------------------------------------
/** Most orders in one commit. A batch of more than a few hundred only adds latency. */
export const MAX_COMMIT_BATCH = 256;
/** Most commits in flight: the second one starts beside a slow one, or when a full batch waits. */
export const MAX_COMMITS_IN_FLIGHT = 2;
/** Most times a commit that deadlocked is sent again; nothing of it was written. */
export const MAX_COMMIT_RETRIES = 3;

// --- Request deduplication (requests without an idempotency key) -------------------------------------------
/** Time for which an equal request gets an order whose reply was lost. Above REQUEST_DEADLINE_MS. */
export const DEDUP_KEPT_MS = 10 * 60_000;

// --- Matching ----------------------------------------------------------------------------------------------
/**
 * Most rows of the tier table. The contract names three; eight leave room for more. Each costs a bit of every
 * driver's 32-bit tag, which leaves 23 bits for the driver's number, and 4 bytes of every cell.
 */
export const MAX_TIERS = 8;
/** Age of the last position at which a driver stops getting orders. */
export const POSITION_FRESH_MS = 90_000;
/** Most orders waiting for a driver; one more is refused with 503 `queue_full`. */
export const MAX_WAITING_ORDERS = 100_000;
/**
 * Meters by the great circle that a driver comes in a minute, for the cost of a way: in seconds of road above
 * ARRIVAL_SLOW_METERS_PER_SECOND and below ARRIVAL_FAST_METERS_PER_SECOND.
 */
export const WAY_METERS_PER_MINUTE = 375;

// --- When an order is due ----------------------------------------------------------------------------------
/** Shortest promise of a tier in minutes. At least MIN_WINDOW_MS, the shortest that a store may ask for. */
export const MIN_PROMISE_MINUTES = 20;

// --- Drivers -----------------------------------------------------------------------------------------------
/** Time after which Postgres ends the statement of such a list. Below LIST_DEADLINE_MS. */
export const LIST_STATEMENT_MS = 1_000;
/** Most time by which a phone's clock may lead; a position from further ahead counts as taken now. */
export const MAX_CLOCK_LEAD_MS = 5_000;
/** Silence after which a driver loses an order not yet picked up. Above POSITION_FRESH_MS. */
export const DRIVER_SILENT_MS = 10 * 60_000;
/** Largest error of a dropoff in meters at which the distance to it is recorded as proof of delivery. */
export const PROOF_DROPOFF_METERS = 200;

// --- Planner -----------------------------------------------------------------------------------------------
/** Time between two looks at who is to be told now. */
export const PLANNER_LOOK_MS = 1_000;
/** Nearest drivers that are tried for an order; twice as many found a twentieth of a minute on public days. */
export const PLANNER_NEAREST = 12;
/** Time after which an order counts half in where orders are expected: about a rush. */
export const PLANNER_DEMAND_MS = 60 * 60_000;
/** Most idle drivers for whom a better place to wait is looked for at once, about 1 ms. */
export const MAX_WAITS_PER_LOOK = 8;
/** Most stores by which it is known where orders are expected; the one that is quiet for longest is forgotten. */
export const MAX_DEMAND_PLACES = 10_000;

// --- Roads (ROUTER_URL) ------------------------------------------------------------------------------------
/** Most places of one table: the bound of OSRM's server as it comes. Above ROAD_TABLE_STEP. */
export const ROAD_TABLE_PLACES = 100;

// --- Where idle drivers wait -------------------------------------------------------------------------------
/** Time after which a driver who has not come is asked no more. Above PLANNER_WAIT_WAY_MINUTES. */
export const IDLE_WAIT_MS = 12 * 60_000;
/** A driver is asked at most once in this time. Above IDLE_WAIT_MS, so that no two asks overlap. */
export const IDLE_WAIT_PAUSE_MS = 15 * 60_000;

// --- Between processes -------------------------------------------------------------------------------------
/** Most orders or drivers read in one statement after notices of other processes. */
export const MAX_FEED_BATCH = 500;
/** Most orders or drivers waiting to be read; beyond, all are read anew. Above MAX_FEED_BATCH. */
export const MAX_FEED_PENDING = 20_000;
/** Pause before a failed read of changes is tried again. */
export const FEED_RETRY_MS = 500;

// --- Live pages --------------------------------------------------------------------------------------------
/** Most sockets of customers in one process, a few kilobytes each. */
export const MAX_TRACKING_SOCKETS = 20_000;
/** Shortest time between two pings; a page that sends them faster is closed. Far below TRACKING_PING_MS. */
export const TRACKING_PING_MIN_MS = 1_000;
/** Silence after which a live socket is closed. Above two of TRACKING_PING_MS or of DRIVER_PING_MS. */
export const SOCKET_IDLE_SECONDS = 60;
/** Length of a road over the great circle; about 1.2 in a grid of streets, 1.6 around water and hills. */
export const ARRIVAL_DETOUR = 1.35;
/** Speed door to door where a town's traffic flows: 40 km/h. */
export const ARRIVAL_FAST_METERS_PER_SECOND = 11;
/** Speed door to door where it does not: 22 km/h. Below ARRIVAL_FAST_METERS_PER_SECOND. */
export const ARRIVAL_SLOW_METERS_PER_SECOND = 6;
/** Longest usual time to stop near the door and walk to it. */
export const ARRIVAL_HANDOVER_MS = 2 * 60_000;

// --- Routes ------------------------------------------------------------------------------------------------
/** Longest time ahead for which a driver says when they go home. */
export const MAX_DUTY_MS = 24 * 3_600_000;
/** Meters by road that a bike comes in a minute, door to door in a town. Below VAN_METERS_PER_MINUTE. */
export const BIKE_METERS_PER_MINUTE = 250;
/** The same for a car. */
export const CAR_METERS_PER_MINUTE = 480;
/** Distance in meters up to which two pickups are one store, which a geocoder may place twice. */
export const SAME_PLACE_METERS = 60;
/** Time at a store for its parcels, however many. At most ARRIVAL_PICKUP_MS. */
export const STORE_STOP_MS = 3 * 60_000;
/** Time at a door. At most ARRIVAL_HANDOVER_MS. */
export const DOOR_STOP_MS = 2 * 60_000;
/** Share of the time to a door behind others after which it comes at the earliest. Below ROUTE_LATEST_SHARE. */
export const ROUTE_EARLIEST_SHARE = 0.75;
/** The same at the latest, as each stop may take longer. */
export const ROUTE_LATEST_SHARE = 1.4;
/** Most sockets of signed-in drivers in one process. */
export const MAX_DRIVER_SOCKETS = 10_000;
/**
 * Most sockets of drivers that have not signed in, beside those that have; one more cuts another one. Phones
 * need one round trip for it. Below MAX_DRIVER_SOCKETS.
 */
export const MAX_UNSIGNED_DRIVER_SOCKETS = 1_000;
/** Most connections of one process, HTTP and sockets together. Above MAX_CONNECTIONS. */
export const MAX_OPEN_CONNECTIONS =
  MAX_CONNECTIONS + MAX_TRACKING_SOCKETS + MAX_DRIVER_SOCKETS + MAX_UNSIGNED_DRIVER_SOCKETS;
/**
 * Open files that connections leave to the process itself: those to databases, vendors and stores' webhooks,
 * and its own files. Where the limit is lower than twice that, half of it.
 */
export const OPEN_FILES_KEPT = 2_048;

// --- Drivers' phones: trackers, pushes and sign-in links ----------------------------------------------------
/** Longest send of a push. The vendors of phones take 0.1 to 0.5 s. */
export const PUSH_TIMEOUT_MS = 5_000;

// --- Outbox and queues -------------------------------------------------------------------------------------
/** Connections of BullMQ where it runs on Postgres. Each worker keeps one to listen on. */
export const QUEUE_DB_CONNECTIONS = 16;
/** Connections of one process that have one task each: the one that listens, the API lock's and the probe's. */
export const SINGLE_DB_CONNECTIONS = 3;
/** Most connections of one process to Postgres, which has 100 by default; QUEUE_DB_CONNECTIONS more without Redis. */
export const PROCESS_DB_CONNECTIONS =
  DB_CONNECTIONS + LIST_DB_CONNECTIONS + MAX_COMMITS_IN_FLIGHT + SINGLE_DB_CONNECTIONS;
/** Connections of a change of the tables: one makes it, and one reads how far it is. */
export const MIGRATION_DB_CONNECTIONS = 2;
/** Shortest time between two reports of one part that a backend is away. */
export const LOSS_REPORT_MS = 30_000;

// --- Jobs --------------------------------------------------------------------------------------------------
/** Attempts of one job before it is left to the sweeper. */
export const JOB_ATTEMPTS = 8;
/** First pause of the exponential backoff. Eight attempts take about two minutes. */
export const JOB_BACKOFF_MS = 1_000;
/** Such statements in flight: one, because two that lock the same orders wait for each other. */
export const MAX_JOB_STATEMENTS = 1;
/** Attempts of a charge, the first one included; another one follows only a decline that may pass. */
export const MAX_PAYMENT_ATTEMPTS = 3;
/**
 * Attempts of one order's charge with all that an operator asked for. At least MAX_PAYMENT_ATTEMPTS and below
 * MAX_CHARGES_SEARCHED, or a look-up could miss one.
 */
export const MAX_PAYMENT_ATTEMPTS_EVER = 99;
/** Failed charges that one statement makes owed again, and waiting orders that one statement cancels. */
export const OPERATOR_BATCH = 500;
/** Age of an order from which its confirmation is not sent any more. */
export const TEXT_USEFUL_SECONDS = 4 * 3_600;

// --- Texts by kind, and callbacks of Twilio ----------------------------------------------------------------
/** Age from which a text that the driver is on the way is not sent any more: most have arrived. */
export const ON_THE_WAY_USEFUL_SECONDS = 3_600;
/**
 * Pause before a text is sent again whose sender carriers refused: an operator registers the number, and each try
 * costs. It doubles with each refusal of the text. Also how long a number has to be refused no more before a text
 * that arrives ends its alarm: one carrier may take what another one refuses.
 */
export const SENDER_REFUSED_PAUSE_SECONDS = 15 * 60;

// --- Webhooks ----------------------------------------------------------------------------------------------
/** Longest attempt of a webhook, name resolution included. Receivers should answer first, work later. */
export const WEBHOOK_TIMEOUT_MS = 5_000;
/** Longest URL of a webhook in characters, a length that browsers and servers all accept. */
export const MAX_WEBHOOK_URL_LENGTH = 2_000;
/** Webhooks that one worker process sends at once. */
export const WEBHOOK_CONCURRENCY = 64;
/** Webhooks of one endpoint sent at once. Below MAX_WEBHOOKS_PER_STORE: one that is down leaves places free. */
export const MAX_WEBHOOKS_PER_ENDPOINT = 8;
/** Largest random addition to a pause of WEBHOOK_RETRY_SECONDS, as a share of it. */
export const WEBHOOK_JITTER = 0.1;
/** Time of failures without a success after which an endpoint is disabled. */
export const WEBHOOK_DISABLE_SECONDS = 86_400;
/** Webhooks that a store may have set with its key, or an organization with its own; the operator's counts. */
export const MAX_WEBHOOKS_SET = 5;

// --- Settings ----------------------------------------------------------------------------------------------
/** Unpaid orders in a row after which a store's further ones wait, by default. */
export const DEFAULT_UNPAID_ORDERS_ALLOWED = 3;
/** Most unpaid orders that may be allowed. Above DEFAULT_UNPAID_ORDERS_ALLOWED. */
export const MAX_UNPAID_ORDERS_ALLOWED = 1_000;
/** Highest rate of orders a second that a store may be set to. */
export const MAX_STORE_RATE = 10_000;
/** Most simulated drivers. They run on this machine, and more would take it from the service. */
export const MAX_SIMULATED_DRIVERS = 200;

// --- Vendors -----------------------------------------------------------------------------------------------
/** Longest call to Stripe. A charge takes 1 to 3 s, or 10 s at a slow bank. */
export const STRIPE_TIMEOUT_MS = 20_000;
/**
 * Connections to one vendor. A charge of 300 ms holds one, so they carry a thousand such charges a second.
 */
export const VENDOR_SOCKETS = 320;
/** Error assumed of a geocoder's point that states none: a street, in meters. Above PROOF_DROPOFF_METERS. */
export const GEOCODER_ACCURACY_METERS = 1_000;
/** Least error assumed of a ZIP's centroid in meters. A ZIP is 3 km across in a town, tens of them elsewhere. */
export const ZIP_ACCURACY_METERS = 10_000;

// --- Rotated keys, organizations and imports ---------------------------------------------------------------
/** Most keys of a store that go on beside its newest one; another rotation with an overlap is refused. */
export const MAX_OVERLAPPING_KEYS = 2;
/** Most stores of an organization. A read of all of them goes along the index of each. */
export const MAX_ORGANIZATION_STORES = 1_000;
/** Most keys of an organization that are good, overlapping ones included: one for each system that reads. */
export const MAX_ORGANIZATION_KEYS = 10;

// --- Command line ------------------------------------------------------------------------------------------
/** Most stores, or drivers, that a filter by a part of a name may mean. */
export const MAX_NAMED = 100;
/**
 * Longest notes of a payout together, in code points: those of many decisions and corrections, in a line that a person
 * still reads. The oldest words give way. Above one note, which has twice MAX_NAME_LENGTH.
 */
export const MAX_PAYOUT_NOTES_LENGTH = 4_000;

// --- Lists (last: a bundler inlines only the figures before the first of them) -----------------------------
/** Pauses after the failures of a delivery, in seconds; the last one repeats. */
export const WEBHOOK_RETRY_SECONDS = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400] as const;

// --- Relations ---------------------------------------------------------------------------------------------
type Figure = Readonly<Record<string, number>>;

/**
 * Throws an error that names both figures where the first is not less than the second. In files that pages load, calls
 * are marked as pure, so that a bundler leaves them out.
 */
export function below(smaller: Figure, larger: Figure): void {
  check(smaller, 'be below', larger, (a, b) => a < b);
}

/** Throws an error that names both figures where the first is greater than the second. */
export function atMost(smaller: Figure, larger: Figure): void {
  check(smaller, 'be at most', larger, (a, b) => a <= b);
}

function check(one: Figure, verb: string, other: Figure, holds: (a: number, b: number) => boolean): void {
  const [[name, value]] = Object.entries(one) as [[string, number]];
  const [[otherName, otherValue]] = Object.entries(other) as [[string, number]];
  if (!holds(value, otherValue)) {
    throw new RangeError(`${name} (${value}) must ${verb} ${otherName} (${otherValue})`);
  }
}

/* @__PURE__ */ below({ MAX_WAITING_BODIES_PER_CALLER }, { MAX_REQUESTS_IN_FLIGHT });
/* @__PURE__ */ below({ MAX_PHOTO_BYTES }, { MAX_BODY_BYTES_PER_CALLER });
/* @__PURE__ */ below({ STATEMENT_TIMEOUT_MS }, { QUERY_DEADLINE_MS });
/* @__PURE__ */ below({ QUERY_DEADLINE_MS }, { REQUEST_DEADLINE_MS });
/* @__PURE__ */ below({ REQUEST_DEADLINE_MS }, { DEDUP_KEPT_MS });
/* @__PURE__ */ below({ POSITION_FRESH_MS }, { DRIVER_SILENT_MS });
/* @__PURE__ */ below({ MAX_FEED_BATCH }, { MAX_FEED_PENDING });
/* @__PURE__ */ below({ MAX_CONNECTIONS }, { MAX_OPEN_CONNECTIONS });
/* @__PURE__ */ below({ ARRIVAL_SLOW_METERS_PER_SECOND }, { ARRIVAL_FAST_METERS_PER_SECOND });
/* @__PURE__ */ below({ ROUTE_EARLIEST_SHARE }, { ROUTE_LATEST_SHARE });
/* @__PURE__ */ atMost({ DOOR_STOP_MS }, { ARRIVAL_HANDOVER_MS });
/* @__PURE__ */ below({ MAX_UNSIGNED_DRIVER_SOCKETS }, { MAX_DRIVER_SOCKETS });
/* @__PURE__ */ below({ IDLE_WAIT_MS }, { IDLE_WAIT_PAUSE_MS });
/* @__PURE__ */ atMost({ MAX_PAYMENT_ATTEMPTS }, { MAX_PAYMENT_ATTEMPTS_EVER });
/* @__PURE__ */ below({ DEFAULT_UNPAID_ORDERS_ALLOWED }, { MAX_UNPAID_ORDERS_ALLOWED });
/* @__PURE__ */ below({ PROOF_DROPOFF_METERS }, { GEOCODER_ACCURACY_METERS });
/* @__PURE__ */ below({ ROUGH_POSITION_METERS }, { MAX_ACCURACY_METERS });
/* @__PURE__ */ below({ 'MAX_NAME_LENGTH, twice': 2 * MAX_NAME_LENGTH }, { MAX_PAYOUT_NOTES_LENGTH });
