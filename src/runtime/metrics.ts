import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client';
import type { CommitBacklog } from '../dispatch/commit-backlog.ts';
import { HOLD_REASONS } from '../domain/hold.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Backlog } from '../store/outbox.ts';
import type { Store } from '../store/store.ts';
import { createMetrics } from '../telemetry.ts';
import type { HttpServer } from '../transport/server.ts';
import type { Database } from './database.ts';
import { watchWaitingWebhooks } from './webhook-metrics.ts';

/** How many orders customers watch, and by how many sockets. */
type WatchedOrders = { watched(): { readonly orders: number; readonly sockets: number } };

export type Metrics = {
  readonly registry: Registry;
  readonly observeRequest: (pattern: string, method: string, status: number, durationMs: number) => void;
  /** Counts a vendor's callback. The labels are of bounded sets. */
  readonly observeCallback: (vendor: string, type: string, outcome: string) => void;
  /** Counts a call of Stripe or Twilio by what became of it, of a bounded set. */
  readonly observeVendor: (vendor: string, outcome: string) => void;
  /** Counts a push to a driver's phone by what became of it, of a bounded set. */
  readonly observePush: (outcome: string) => void;
  /** Counts a driver's upload of a photo by what became of it, of a bounded set. */
  readonly observePhoto: (outcome: string) => void;
  /** Counts a table of the router by what became of it, of a bounded set. */
  readonly observeTable: (outcome: string) => void;
  watch(matcher: Matcher, backlog: Pick<CommitBacklog, 'orders'>, tracking: WatchedOrders, server: HttpServer): void;
};

type BacklogStore = Pick<
  Store,
  'readBacklog' | 'readOldestWaiting' | 'readOldestPutOff' | 'readEventLag' | 'readWatched' | 'readWaitingWebhooks'
>;

/** The metrics of `GET /metrics`: requests, fleet, waiting orders, and the backlog of the queues. */
export function openMetrics(database: Pick<Database, 'isAway'>, store: BacklogStore): Metrics {
  const registry = createMetrics();
  collectDefaultMetrics({ register: registry });
  // It lists /proc/self/fd synchronously, which blocks the process for 12 ms with 10,000 open sockets.
  registry.removeSingleMetric('process_open_fds');
  const registers = [registry];
  const requests = new Counter({
    name: 'sameday_http_requests_total',
    help: 'Requests by route and status (0: the client left first)',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'sameday_http_request_seconds',
    help: 'Time to reply by route',
    labelNames: ['route', 'method'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  /**
   * Series by route, method and status, because prom-client's look-up by labels costs more than the count.
   */
  const known = new Map<string, { readonly count: Counter.Internal; readonly time: Histogram.Internal<string> }>();
  watchBacklog(store, registry);
  watchWaitingWebhooks(store, registry);
  const callbacks = new Counter({
    name: 'sameday_vendor_callbacks_total',
    help: 'Callbacks of vendors by type and what became of them',
    labelNames: ['vendor', 'type', 'outcome'],
    registers,
  });
  const vendorCalls = new Counter({
    name: 'sameday_vendor_calls_total',
    help: 'Calls of vendors by what became of them',
    labelNames: ['vendor', 'outcome'],
    registers,
  });
  const pushes = new Counter({
    name: 'sameday_pushes_total',
    help: "Pushes to drivers' phones by what became of them",
    labelNames: ['outcome'],
    registers,
  });
  const photos = new Counter({
    name: 'sameday_photos_total',
    help: 'Photos of handovers that drivers sent by what became of them',
    labelNames: ['outcome'],
    registers,
  });
  const tables = new Counter({
    name: 'sameday_router_tables_total',
    help: 'Tables of ways asked of the router by what became of them',
    labelNames: ['outcome'],
    registers,
  });
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge('sameday_database_up', 'Whether Postgres answers; 0 while requests that need it are refused', () =>
    database.isAway() ? 0 : 1,
  );

  return {
    registry,
    observeRequest(route, method, status, durationMs) {
      const key = `${route} ${method} ${status}`;
      let series = known.get(key);
      if (!series) {
        series = { count: requests.labels({ route, method, status }), time: durations.labels({ route, method }) };
        known.set(key, series);
      }
      series.count.inc();
      series.time.observe(durationMs / 1000);
    },
    observeCallback: (vendor, type, outcome) => callbacks.inc({ vendor, type, outcome }),
    observeVendor: (vendor, outcome) => vendorCalls.inc({ vendor, outcome }),
    observePush: (outcome) => pushes.inc({ outcome }),
    observePhoto: (outcome) => photos.inc({ outcome }),
    observeTable: (outcome) => tables.inc({ outcome }),
    watch(matcher, backlog, tracking, server) {
      gauge('sameday_drivers', 'Drivers known', () => matcher.driverCount());
      gauge('sameday_drivers_on_duty', 'Drivers on duty', () => matcher.onDutyCount());
      gauge('sameday_drivers_free', 'Drivers on duty without an order', () => matcher.freeCount());
      gauge('sameday_orders_waiting', 'Orders waiting for a driver', () => matcher.waitingCount());
      gauge('sameday_orders_not_yet', 'Orders that wait for their time', () => matcher.laterCount());
      new Gauge({
        name: 'sameday_orders_held',
        help: 'Orders waiting for a driver whose store is held, by reason',
        labelNames: ['reason'],
        registers,
        collect() {
          for (const reason of HOLD_REASONS) this.set({ reason }, matcher.heldCount(reason));
        },
      });
      gauge('sameday_commits_pending', 'Orders waiting for their commit', () => backlog.orders);
      gauge('sameday_tracking_sockets', 'Open tracking sockets', () => tracking.watched().sockets);
      gauge('sameday_http_in_flight', 'Requests not answered yet', () => server.inFlight);
    },
  };
}

/**
 * Gauges that a scrape reads from the database. While it is away they are missing, and all others are there.
 */
function watchBacklog(store: BacklogStore, registry: Registry): void {
  const readBacklog = shared(() => store.readBacklog());
  const ofQueues = (name: string, help: string, figure: (backlog: Backlog) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['queue'],
      registers: [registry],
      async collect() {
        const backlogs = (await readBacklog()) ?? [];
        this.reset();
        for (const backlog of backlogs) this.set({ queue: backlog.queue }, figure(backlog));
      },
    });
  ofQueues('sameday_queue_owed', 'Jobs owed by queue', ({ owed }) => owed);
  ofQueues('sameday_queue_oldest_seconds', 'Age of the oldest owed job by queue', ({ oldestSeconds }) => oldestSeconds);
  ofQueues('sameday_queue_failed', 'Jobs given up by queue', ({ failed }) => failed);
  function single<Read>(read: () => Promise<Read | null>, figures: readonly Figure<Read>[]): void {
    for (const [name, help, figure] of figures) {
      new Gauge({
        name,
        help,
        registers: [registry],
        async collect() {
          this.reset();
          const found = await read();
          if (found !== null) this.set(figure(found));
        },
      });
    }
  }
  single(
    shared(() => store.readOldestWaiting()),
    [
      [
        'sameday_orders_waiting_oldest_seconds',
        'Age of the oldest order that waits for a driver',
        (seconds) => seconds,
      ],
    ],
  );
  single(
    shared(() => store.readOldestPutOff()),
    [
      [
        'sameday_charges_put_off_oldest_seconds',
        'Time since the first attempt of the oldest charge that is put off',
        (seconds) => seconds,
      ],
    ],
  );
  single(
    shared(() => store.readEventLag()),
    [
      ['sameday_events_unnumbered', 'Events that stores cannot read yet', ({ events }) => events],
      ['sameday_events_oldest_seconds', 'Age of the oldest of them', ({ oldestSeconds }) => oldestSeconds],
    ],
  );
  single(
    shared(() => store.readWatched()),
    [
      [
        'sameday_refunds_missing',
        'Orders that ended undelivered and are still paid',
        (watched) => watched.refundsMissing,
      ],
      ['sameday_failed_charges', 'Orders whose charge failed and is owed', (watched) => watched.failedCharges],
      ['sameday_webhooks_disabled', 'Webhooks that failed for too long', (watched) => watched.webhooksDisabled],
    ],
  );
}

type Figure<Read> = readonly [name: string, help: string, figure: (read: Read) => number];

/** The gauges of a scrape share one statement; null where it fails. */
function shared<Read>(statement: () => Promise<Read>): () => Promise<Read | null> {
  let reading: Promise<Read | null> | null = null;
  return () => {
    reading ??= statement()
      .catch(() => null)
      .finally(() => {
        reading = null;
      });
    return reading;
  };
}
