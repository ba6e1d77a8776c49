import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client';
import type { GroupCommit } from '../dispatch/group-commit.ts';
import type { HttpServer } from '../http/server.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Sql } from '../store/connect.ts';
import { readBacklog } from '../store/outbox.ts';
import { createMetrics } from '../telemetry.ts';
import type { Tracking } from '../tracking/live.ts';
import type { Database } from './database.ts';

export type Metrics = {
  readonly registry: Registry;
  readonly observeRequest: (pattern: string, method: string, status: number, durationMs: number) => void;
  watch(matcher: Matcher, groupCommit: GroupCommit, tracking: Tracking, server: HttpServer): void;
};

/** What `/metrics` shows: requests, the fleet, what waits where, and what the queues owe with the age of the oldest. */
export function openMetrics({ sql, isAway }: Pick<Database, 'sql' | 'isAway'>): Metrics {
  const registry = createMetrics();
  collectDefaultMetrics({ register: registry });
  // It lists /proc/self/fd synchronously at each scrape: with 10,000 sockets open everything else stands still for 12 ms.
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
  watchBacklog(sql, registry);
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
    isAway() ? 0 : 1,
  );

  return {
    registry,
    observeRequest(pattern, method, status, durationMs) {
      requests.inc({ route: pattern, method, status });
      durations.observe({ route: pattern, method }, durationMs / 1000);
    },
    watch(matcher, groupCommit, tracking, server) {
      gauge('sameday_drivers', 'Drivers known', () => matcher.driverCount());
      gauge('sameday_drivers_on_duty', 'Drivers on duty', () => matcher.onDutyCount());
      gauge('sameday_drivers_free', 'Drivers on duty without an order', () => matcher.freeCount());
      gauge('sameday_orders_waiting', 'Orders waiting for a driver', () => matcher.waitingCount());
      gauge('sameday_commits_pending', 'Orders waiting for their commit', () => groupCommit.depth());
      gauge('sameday_tracking_sockets', 'Open tracking sockets', () => tracking.watched().sockets);
      gauge('sameday_http_in_flight', 'Requests not answered yet', () => server.inFlight);
    },
  };
}

/** Two gauges from one query, asked when somebody looks. */
function watchBacklog(sql: Sql, registry: Registry): void {
  const labelNames = ['queue'];
  const oldest = new Gauge({
    name: 'sameday_queue_oldest_seconds',
    help: 'Age of the oldest owed job by queue',
    labelNames,
    registers: [registry],
  });
  new Gauge({
    name: 'sameday_queue_owed',
    help: 'Jobs owed by queue',
    labelNames,
    registers: [registry],
    async collect() {
      this.reset();
      oldest.reset();
      // A scrape while the database is away still shows everything else.
      const backlog = await readBacklog(sql).catch(() => []);
      for (const { queue, owed, oldestSeconds } of backlog) {
        this.set({ queue }, owed);
        oldest.set({ queue }, oldestSeconds);
      }
    },
  });
}
