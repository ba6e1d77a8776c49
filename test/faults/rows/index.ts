import type { Row } from '../row.ts';
import { driverMessages } from './driver-messages.ts';
import { mutatedBodies } from './http-bodies.ts';
import { deafSockets } from './http-deaf.ts';
import { rawSockets } from './http-raw.ts';
import { slowClients } from './http-slow.ts';
import { fewDrivers, sameKey } from './orders.ts';
import { backends } from './postgres.ts';
import { killApi, killWorker, pauseApi } from './processes.ts';
import { emptyRedis } from './redis.ts';
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
  fewDrivers,
  mutatedBodies,
  rawSockets,
  slowClients,
  deafSockets,
  driverMessages,
];
