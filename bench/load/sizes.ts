import { SHARES } from './figures.ts';
import { TimePlan } from './time-plan.ts';

/** Sizes of the world, and seconds of each part. */
export type Sizes = {
  readonly drivers: number;
  readonly stores: number;
  /** Different orders, which are sent again and again under new keys. */
  readonly orders: number;
  readonly connections: readonly number[];
  /** Connections over which the peers are measured; one of `connections`. */
  readonly peerConnections: number;
  readonly warmUpSeconds: number;
  readonly warmUpDrainSeconds: number;
  readonly rateSeconds: number;
  readonly latencySeconds: number;
  readonly peerWarmUpSeconds: number;
  readonly peerSeconds: number;
  /** Longest wait for the jobs that are owed at the end. */
  readonly drainSeconds: number;
};

export const FULL: Sizes = {
  drivers: 100_000,
  stores: 1_000,
  orders: 4_000,
  connections: [1, 10, 100, 1_000],
  peerConnections: 100,
  warmUpSeconds: 6,
  warmUpDrainSeconds: 2,
  rateSeconds: 5,
  latencySeconds: 9,
  peerWarmUpSeconds: 3,
  peerSeconds: 4,
  drainSeconds: 5,
};

export const SMALL: Sizes = {
  drivers: 2_000,
  stores: 50,
  orders: 400,
  connections: [1, 8],
  peerConnections: 8,
  warmUpSeconds: 1,
  warmUpDrainSeconds: 1,
  // A busy machine gives a load nothing for a second.
  rateSeconds: 3,
  latencySeconds: 2,
  peerWarmUpSeconds: 1,
  peerSeconds: 1,
  drainSeconds: 5,
};

/** Seconds that a start of the service takes, with its stop and the clean tables before. */
const START_SECONDS = 4;
/** Seconds to stop everything and to remove its files. */
const REMOVE_SECONDS = 2;

/** The parts that follow once the servers are filled, as `loadThrowaway` takes them. */
export function timePlan(sizes: Sizes, endMs: number): TimePlan {
  const other = (name: string, seconds: number) => ({ name, seconds, measures: false });
  const figure = (name: string, seconds: number) => ({ name, seconds, measures: true });
  const warmUp = sizes.warmUpSeconds;
  return new TimePlan(
    [
      other('start', START_SECONDS),
      other('warm-up', warmUp),
      other('jobs of the warm-up', sizes.warmUpDrainSeconds),
      ...sizes.connections.map((connections) => figure(`${connections}`, sizes.rateSeconds)),
      other('jobs of the rates', sizes.drainSeconds),
      ...SHARES.map((share) => figure(`${share}`, sizes.latencySeconds)),
      other('jobs', sizes.drainSeconds),
      other('start of the bare server', START_SECONDS / 4),
      other('bare warm-up', sizes.peerWarmUpSeconds / 2),
      figure('bare', sizes.peerSeconds),
      other('start of the plain service', START_SECONDS),
      other('plain warm-up', sizes.peerWarmUpSeconds),
      figure('plain', sizes.peerSeconds),
      other('removal', REMOVE_SECONDS),
    ],
    endMs,
  );
}
