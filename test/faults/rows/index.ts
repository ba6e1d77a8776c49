import type { Row } from '../row.ts';
import { fewDrivers, sameKey } from './orders.ts';
import { backends, postgresCut, postgresRestart, postgresStopped } from './postgres.ts';
import { clockOff, killApi, killWorker, pauseApi, restart } from './processes.ts';
import { emptyRedis } from './redis.ts';
import { stripeFaults, twilioFaults } from './vendors.ts';

/** In the order in which they run. */
export const ROWS: readonly Row[] = [
  killApi,
  killWorker,
  backends,
  postgresRestart,
  postgresCut,
  postgresStopped,
  emptyRedis,
  pauseApi,
  restart,
  clockOff,
  stripeFaults,
  twilioFaults,
  sameKey,
  fewDrivers,
];
