import type { Row } from '../row.ts';
import { driverTaps } from './drivers.ts';
import { idlePool, suspensions, suspensions, unknownKeys, unknownKeys } from './keys.ts';
import { modelInProcess } from './model.ts';
import { foreignIds } from './foreign.ts';
import { modelInProcess, modelOverHttp } from './model.ts';
import { fewDrivers, sameKey } from './orders.ts';
import { overload } from './overload.ts';
import { idlePool } from './pools.ts';
import { backends } from './postgres.ts';
import { killApi, killWorker, pauseApi } from './processes.ts';
import { emptyRedis, restartRedis, silenceRedis } from './redis.ts';
import { imageBombs } from './photos.ts';
import { backends } from './postgres.ts';
import { killApi, killWorker, pauseApi } from './processes.ts';
import { cancelRaces } from './races.ts';
import { emptyRedis } from './redis.ts';
import { scriptPayloads } from './scripts.ts';
import { stripeFaults, twilioFaults } from './vendors.ts';
import { webhookAddresses } from './webhooks.ts';

/** In the order in which they run. */
export const ROWS: readonly Row[] = [
  killApi,
  killWorker,
  backends,
  restartRedis,
  emptyRedis,
  silenceRedis,
  pauseApi,
  stripeFaults,
  twilioFaults,
  sameKey,
  fewDrivers,
  cancelRaces,
  foreignIds,
  modelInProcess,
  driverTaps,
  suspensions,
  idlePool,
  unknownKeys,
  overload,
  imageBombs,
  scriptPayloads,
  webhookAddresses,
  modelOverHttp,
];
