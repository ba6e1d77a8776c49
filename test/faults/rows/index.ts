import type { Row } from '../row.ts';
import { allAway } from './away.ts';
import { fewDrivers, sameKey } from './orders.ts';
import { backends } from './postgres.ts';
import { killApi, killWorker, pauseApi } from './processes.ts';
import { emptyRedis, restartRedis, silenceRedis } from './redis.ts';
import { stripeFaults, twilioFaults } from './vendors.ts';
import { workerDeaths } from './workers.ts';

/** In the order in which they run. */
export const ROWS: readonly Row[] = [
  killApi,
  killWorker,
  ...workerDeaths,
  backends,
  restartRedis,
  emptyRedis,
  silenceRedis,
  allAway,
  pauseApi,
  stripeFaults,
  twilioFaults,
  sameKey,
  fewDrivers,
];
