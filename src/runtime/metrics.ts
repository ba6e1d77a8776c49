import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client';
import type { CommitBacklog } from '../dispatch/commit-backlog.ts';
import { HOLD_REASONS } from '../domain/hold.ts';
import type { Matcher } from '../matcher/matcher.ts';
import { sharedRead } from '../shared-read.ts';
import type { Watched } from '../store/operator/operator.ts';
import type { Store } from '../store/store.ts';
import { createMetrics } from '../telemetry.ts';
import type { HttpServer } from '../transport/server.ts';
import type { Database } from './database.ts';

/** How many orders customers watch, and by how many sockets. */
type WatchedOrders = { watched(): { readonly orders: number; readonly sockets: number } };

export type Metrics = ReturnType<typeof openMetrics>;

type BacklogStore = Pick<
  Store,
  'readBacklog' | 'readOldestWaiting' | 'readOldestPutOff' | 'readEventLag' | 'readWatched' | 'readWaitingWebhooks'
>;

/** The metrics of `GET /metrics`: requests, fleet, waiting orders, and the backlog of the queues. */
export function openMetrics(database: Pick<Database, 'isAway'>, store: BacklogStore) {
  const registry = createMetrics();
  collectDefaultMetrics({ register: registry });
  // It lists /proc/self/fd synchronously, which blocks the process for 12 ms with 10,000 open sockets.
  registry.removeSingleMetric('process_open_fds');
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const requests = counter('sameday_http_requests_total', 'Requests by route and status (0: the client left first)', [
    'route',
    'method',
    'status',
  ]);
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
  watchDatabase(store, registry);
  const callbacks = counter('sameday_vendor_callbacks_total', 'Callbacks of vendors by type and what became of them', [
    'vendor',
    'type',
    'outcome',
  ]);
  const calls = counter('sameday_vendor_calls_total', 'Calls of vendors by what became of them', ['vendor', 'outcome']);
  const byOutcome = (name: string, help: string) => {
    const outcomes = counter(name, help, ['outcome']);
    return (outcome: string) => outcomes.inc({ outcome });
  };
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
    observeRequest: (route: string, method: string, status: number, durationMs: number): void => {
      const key = `${route} ${method} ${status}`;
      let series = known.get(key);
      if (!series) {
        series = { count: requests.labels({ route, method, status }), time: durations.labels({ route, method }) };
        known.set(key, series);
      }
      series.count.inc();
      series.time.observe(durationMs / 1000);
    },
    /** Counts a vendor's callback. The labels are of bounded sets. */
    observeCallback: (vendor: string, type: string, outcome: string): void => callbacks.inc({ vendor, type, outcome }),
    /** Counts a call of Stripe or Twilio by what became of it, of a bounded set. */
    observeVendor: (vendor: string, outcome: string): void => calls.inc({ vendor, outcome }),
    /** Each of these counts by what became of it, of a bounded set. */
    observePush: byOutcome('sameday_pushes_total', "Pushes to drivers' phones by what became of them"),
    observePhoto: byOutcome('sameday_photos_total', 'Photos of handovers that drivers sent by what became of them'),
    observeTable: byOutcome('sameday_router_tables_total', 'Tables of ways asked of the router by what became of them'),
    /** Tells when the certificate ends that this process read: the one in its file may be a newer one. */
    watchTls(endsAt: Date): void {
      const help = 'When the certificate that this process serves ends, in seconds since 1970';
      gauge('sameday_tls_certificate_end_timestamp_seconds', help, () => endsAt.getTime() / 1_000);
    },
    watch(matcher: Matcher, backlog: Pick<CommitBacklog, 'orders'>, tracking: WatchedOrders, server: HttpServer): void {
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
 * Gauges that a scrape reads from the database. While it is away they are missing, and all others are there. Those of
 * what waits behind receivers of webhooks are no backlog of the system's.
 */
function watchDatabase(store: BacklogStore, registry: Registry): void {
  const registers = [registry];
  const byLabel =
    <Row>(label: string, read: () => Promise<readonly Row[] | null | undefined>, labelOf: (row: Row) => string) =>
    (name: string, help: string, figure: (row: Row) => number) =>
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        async collect() {
          const rows = (await read()) ?? [];
          this.reset();
          for (const row of rows) this.set({ [label]: labelOf(row) }, figure(row));
        },
      });
  const single = (name: string, help: string, read: () => Promise<number | null | undefined>) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const figure = await read();
        // A reset would leave a 0, as of a figure that was read.
        this.remove();
        if (typeof figure === 'number') this.set(figure);
      },
    });
  const ofQueues = byLabel(
    'queue',
    shared(() => store.readBacklog()),
    ({ queue }) => queue,
  );
  ofQueues('sameday_queue_owed', 'Jobs owed by queue', ({ owed }) => owed);
  ofQueues('sameday_queue_oldest_seconds', 'Age of the oldest owed job by queue', ({ oldestSeconds }) => oldestSeconds);
  ofQueues('sameday_queue_failed', 'Jobs given up by queue', ({ failed }) => failed);
  single(
    'sameday_orders_waiting_oldest_seconds',
    'Age of the oldest order that waits for a driver',
    shared(() => store.readOldestWaiting()),
  );
  single(
    'sameday_charges_put_off_oldest_seconds',
    'Time since the first attempt of the oldest charge that is put off',
    shared(() => store.readOldestPutOff()),
  );
  const lag = shared(() => store.readEventLag());
  single('sameday_events_unnumbered', 'Events that stores cannot read yet', async () => (await lag())?.events);
  single('sameday_events_oldest_seconds', 'Age of the oldest of them', async () => (await lag())?.oldestSeconds);
  const watched = shared(() => store.readWatched());
  const ofWatched = (name: string, help: string, figure: keyof Watched) =>
    single(name, help, async () => (await watched())?.[figure]);
  ofWatched('sameday_refunds_missing', 'Orders that ended undelivered and are still paid', 'refundsMissing');
  ofWatched('sameday_failed_charges', 'Orders whose charge failed and is owed', 'failedCharges');
  ofWatched('sameday_webhooks_disabled', 'Webhooks that failed for too long', 'webhooksDisabled');
  const waiting = shared(() => store.readWaitingWebhooks());
  const ofReceivers = byLabel(
    'because',
    async () => (await waiting())?.reasons,
    ({ because }) => because,
  );
  single(
    'sameday_webhooks_waiting',
    'Webhook deliveries that wait behind a receiver',
    async () => (await waiting())?.deliveries,
  );
  ofReceivers('sameday_webhooks_waiting_receivers', 'Receivers behind which deliveries wait', (row) => row.receivers);
  ofReceivers(
    'sameday_webhooks_waiting_oldest_seconds',
    'Age of the oldest of these deliveries',
    (row) => row.oldestSeconds,
  );
}

/** The gauges of a scrape share one statement; null where it fails. */
function shared<Read>(statement: () => Promise<Read>): () => Promise<Read | null> {
  return sharedRead(() => statement().catch(() => null));
}
