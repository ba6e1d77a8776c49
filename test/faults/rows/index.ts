import type { Row } from '../row.ts';
import { driverTaps } from './drivers.ts';
import { fewDrivers, sameKey } from './orders.ts';
import { imageBombs } from './photos.ts';
import { backends } from './postgres.ts';
import { killApi, killWorker, pauseApi } from './processes.ts';
import { emptyRedis } from './redis.ts';
import { scriptPayloads } from './scripts.ts';
import { stripeFaults, twilioFaults } from './vendors.ts';
import { webhookAddresses } from './webhooks.ts';

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
  driverTaps,
  imageBombs,
  scriptPayloads,
  webhookAddresses,
];
