import type { Row } from '../row.ts';
import { allAway } from './away.ts';
import { twoBuilds } from './builds.ts';
import { driverTaps } from './drivers.ts';
import { failovers } from './failover.ts';
import { feedWriter } from './feed.ts';
import { foreignIds } from './foreign.ts';
import { mutatedBodies } from './http-bodies.ts';
import { deafSockets } from './http-deaf.ts';
import { hostileValues } from './http-hostile.ts';
import { rawSockets } from './http-raw.ts';
import { slowClients } from './http-slow.ts';
import { inventedDeliveries } from './invented.ts';
import { suspensions, unknownKeys } from './keys.ts';
import { modelInProcess, modelOverHttp } from './model.ts';
import { fewDrivers, sameKey } from './orders.ts';
import { overload } from './overload.ts';
import { imageBombs } from './photos.ts';
import { plannerKilled, plannerTwo } from './planner.ts';
import { dispatchMode, plannerOutage, plannerRaces } from './planner-races.ts';
import { idlePool } from './pools.ts';
import { backends, postgresCut, postgresRestart, postgresStopped } from './postgres.ts';
import { clockOff, killApi, killWorker, pauseApi, restart } from './processes.ts';
import { cancelRaces } from './races.ts';
import { behindRedis, emptyRedis, failOverRedis, restartRedis, silenceRedis } from './redis.ts';
import { noKeyRetries } from './repeats.ts';
import { restore } from './restore.ts';
import { scriptPayloads } from './scripts.ts';
import { driverSlots, slotsOfBuilds } from './slots.ts';
import { vendorCallbacks } from './vendor-callbacks.ts';
import { stripeFaults, twilioBrownout, twilioFaults } from './vendors.ts';
import { webhookAddresses } from './webhooks.ts';
import { workerDeaths } from './workers.ts';

/** In the order in which they run. */
export const ROWS: readonly Row[] = [
  killApi,
  killWorker,
  ...workerDeaths,
  feedWriter,
  backends,
  postgresRestart,
  postgresCut,
  postgresStopped,
  ...failovers,
  restore,
  restartRedis,
  emptyRedis,
  behindRedis,
  failOverRedis,
  silenceRedis,
  allAway,
  pauseApi,
  restart,
  clockOff,
  plannerKilled,
  plannerTwo,
  plannerRaces,
  plannerOutage,
  dispatchMode,
  stripeFaults,
  twilioFaults,
  twilioBrownout,
  vendorCallbacks,
  overload,
  fewDrivers,
  driverSlots,
  slotsOfBuilds,
  twoBuilds,
  cancelRaces,
  suspensions,
  driverTaps,
  inventedDeliveries,
  sameKey,
  noKeyRetries,
  idlePool,
  unknownKeys,
  foreignIds,
  modelOverHttp,
  modelInProcess,
  scriptPayloads,
  imageBombs,
  webhookAddresses,
  mutatedBodies,
  rawSockets,
  hostileValues,
  slowClients,
  deafSockets,
];
