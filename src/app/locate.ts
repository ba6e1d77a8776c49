import type { Config } from '../config.ts';
import { type DropoffAnswer, locateDropoff } from '../dispatch/locate-dropoff.ts';
import { createLocateJob } from '../jobs/locate.ts';
import { LOCATE_CONCURRENCY, LOCATE_TIMEOUT_MS } from '../limits.ts';
import type { Sql } from '../postgres/connect.ts';
import { type QueueBackend, startWorker } from '../queues/queues.ts';
import { readUnlocated, recordDropoff } from '../store/dropoffs.ts';
import { finishOutbox } from '../store/outbox.ts';
import type { Logger } from '../telemetry.ts';
import { createGeocoder } from '../vendors/geocoder.ts';
import { loadZips, ZIPS_FILE } from '../vendors/zips.ts';
import type { Closers } from './closers.ts';

/** The worker that finds where orders go. Without a geocoder it finishes with the ZIP what others left it. */
export function startLocating(
  parts: {
    readonly config: Config;
    readonly sql: Sql;
    readonly backend: QueueBackend;
    readonly origin: string;
    readonly isAway: () => boolean;
    readonly located: (orderId: string) => void;
  },
  logger: Logger,
  closers: Closers,
): void {
  const { config, sql, origin } = parts;
  const geocoder = config.geocoderUrl
    ? createGeocoder({ url: config.geocoderUrl, timeoutMs: LOCATE_TIMEOUT_MS })
    : null;
  const geocode = geocoder ? (text: string): Promise<DropoffAnswer> => geocoder.geocode(text) : null;
  const zipCentroid = loadZips(ZIPS_FILE);
  const job = createLocateJob({
    read: (orderId) => readUnlocated(sql, orderId),
    locate: (address) => locateDropoff(address, geocode, zipCentroid),
    settle: (orderId, dropoff, outboxId) => recordDropoff(sql, orderId, dropoff, outboxId, origin),
    finish: (outboxId) => finishOutbox(sql, outboxId, null),
    located: parts.located,
  });
  const rate = { concurrency: LOCATE_CONCURRENCY, ratePerSecond: 0, isAway: parts.isAway };
  const worker = startWorker('locate', parts.backend, job, rate, logger);
  closers.add('locate worker', () => worker.close());
}
