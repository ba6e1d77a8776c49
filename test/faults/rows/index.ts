import type { Row } from '../row.ts';
import { fewDrivers, sameKey } from './orders.ts';
import { backends } from './postgres.ts';
import { killApi, killWorker, pauseApi } from './processes.ts';
import { emptyRedis } from './redis.ts';
import { noKeyRetries } from './repeats.ts';
import { stripeFaults, twilioFaults } from './vendors.ts';

/** In the order in which they run. */
export const ROWS: readonly Row[] = [
  killApi,
  killWorker,
  backends,
  emptyRedis,
  pauseApi,
  stripeFaults,
  twilioFaults,
  sameKey,
  noKeyRetries,
  fewDrivers,
];
