import { followChanges } from '../../src/app/change-feed.ts';
import { createCancelOrder } from '../../src/dispatch/cancel-order.ts';
import type { CommitOutcome } from '../../src/dispatch/commit-batch.ts';
import { createDriverActions } from '../../src/dispatch/driver-actions.ts';
import { Fleet } from '../../src/dispatch/fleet.ts';
import { createGivenOrders } from '../../src/dispatch/given-orders.ts';
import { LoadedTiers } from '../../src/dispatch/loaded-tiers.ts';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import { createPlaceOrder } from '../../src/dispatch/place-order.ts';
import { createPositions, type Positions } from '../../src/dispatch/positions.ts';
import { createRedispatch } from '../../src/dispatch/redispatch.ts';
import { createSweep } from '../../src/dispatch/sweep.ts';
import { UnknownOutcomes } from '../../src/dispatch/unknown-outcomes.ts';
import type { DriverPosition } from '../../src/domain/driver.ts';
import type { PaymentStatus, PlaceOrder } from '../../src/domain/order.ts';
import type { TierId } from '../../src/domain/tier.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import type { Sql } from '../../src/postgres/connect.ts';
import { Closers } from '../../src/runtime/closers.ts';
import type { RetailerKey } from '../../src/store/accounts/retailers.ts';
import type { NewOrder } from '../../src/store/orders/orders-create.ts';
import type { Logger } from '../../src/telemetry.ts';
import { NO_SECRETS } from '../harness/secrets.ts';
import { NO_ZIPS } from '../harness/towns.ts';
import { TIERS } from '../matcher/brute-force.ts';
import { storeOn } from './store.ts';
import { STORE, type Tables } from './tables.ts';

/** The planned outcome of an order's commit. */
export type PlannedOutcome = 'taken' | 'refused' | 'unknown_and_late' | 'unknown_and_lost';

const KEY: RetailerKey = {
  keyId: 'key',
  retailerId: 'store',
  name: 'Corner Market',
  address: 'One Test Square',
  point: STORE,
  keyEnds: false,
  ordersPerSecond: null,
};
const REQUEST: Omit<PlaceOrder, 'tierId'> = {
  retailerId: KEY.retailerId,
  customer: { name: 'Jordan Lee', email: 'jordan@example.com', phone: '+14155550100', smsOptIn: false },
  pickupAddress: KEY.address,
  dropoffAddress: { line1: '1 First St', line2: null, city: 'New York', state: 'NY', zip: '10001' },
  extras: null,
};

export type Process = Awaited<ReturnType<typeof startProcess>>;

/** Starts the dispatch of an API process on simulated tables; everything but the statements is real. */
export async function startProcess(tables: Tables, processId: string) {
  /** Logged failures of work that nothing waits for. */
  const errors: string[] = [];
  const logger = createErrorLogger(errors);
  const closers = new Closers(logger);
  const clock = { now: tables.now };
  const store = storeOn(tables, processId);
  const matcher = new Matcher(TIERS);
  const tiers = new LoadedTiers(store, matcher);
  const relay = { relay: () => undefined };
  const paymentWait = {
    paymentWithin: async (): Promise<PaymentStatus> => 'processing',
    recheck: async () => undefined,
  };
  const events = new OrderEvents();
  const unknownOutcomes = new UnknownOutcomes(60_000, 1_000, clock.now, events);
  const fleet = new Fleet(matcher, store, events);
  const parts = { store, matcher, tiers, relay, paymentWait, events, unknownOutcomes, fleet, clock, logger };
  const redispatch = createRedispatch(parts);
  const shared = { ...parts, redispatch };
  const given = createGivenOrders(shared);
  const sweep = createSweep(shared);
  const actions = createDriverActions({ ...shared, receipts: async () => null, releasesPerHour: 0 });
  const positions = createPositions({ ...shared, writer: createWriter(tables) });
  const cancelOrder = createCancelOrder(shared);
  const groupCommit = createCommits(tables, processId);
  const placeOrder = createPlaceOrder({
    ...shared,
    groupCommit,
    places: { geocoder: null, zips: NO_ZIPS },
    waitingRoom: { enter: () => true, leave: () => undefined },
  });

  const others: Pick<Positions, 'receive'>[] = [];
  /** The drivers who were rung for an order. */
  const rung: string[] = [];
  events.subscribe({
    orderGiven: (driverId) => rung.push(driverId),
    driverFreed: (driverId) => redispatch.driverAvailable(driverId),
    positionReported(position) {
      for (const other of others) {
        void tables.turn(`position of ${position.driverId}`).then(() => other.receive(position));
      }
    },
  });
  const connection = createConnection(tables);
  const database = { sql: connection.sql, processId };
  const forget = () => undefined;
  const credentials = { stores: { forget }, organizations: { forget }, drivers: { forget } };
  const holds = { reload: async () => undefined, refresh: async () => undefined };
  await followChanges({ ...shared, given, database, holds, sweep, credentials, secrets: NO_SECRETS, closers });
  // The start has swept; the events of a test are to be enough without a sweep.
  await sweep.run();
  return {
    matcher,
    fleet,
    redispatch,
    sweep,
    actions,
    positions,
    cancelOrder,
    errors,
    rung,
    /** Sends positions to another process too. */
    tell: (other: { readonly positions: Pick<Positions, 'receive'> }) => void others.push(other.positions),
    place(tierId: TierId = 'standard', planned: PlannedOutcome = 'taken') {
      const request: PlaceOrder = { ...REQUEST, tierId };
      groupCommit.plannedOutcomes.set(request, planned);
      return placeOrder(request, KEY, null, { sinceMs: performance.now(), signal: { aborted: false } });
    },
    /** Loses the listening connection: no notice arrives until it is opened again. */
    async loseConnection() {
      connection.lose();
      await tables.turn(`${processId} listens again`);
      connection.restore();
    },
    close: () => closers.closeAll(),
  };
}

/** A logger that keeps warnings and errors. */
function createErrorLogger(errors: string[]): Logger {
  const ignore = () => undefined;
  const keep: Logger['warn'] = (fields, message) => void errors.push(`${message} ${JSON.stringify(fields)}`);
  return { debug: ignore, info: ignore, warn: keep, error: keep };
}

/** Writes each position into the tables at a time of its own. */
function createWriter(tables: Tables) {
  return {
    put({ driverId, lat, lng, atMs }: DriverPosition) {
      const driver = tables.drivers.get(driverId);
      if (!driver) throw new Error(`no driver ${driverId}`);
      void tables.turn(`position of ${driverId} is written`).then(() => {
        if (driver.position.atMs < atMs) driver.position = { lat, lng, atMs };
      });
    },
  };
}

/** Commits orders one by one, each with the planned outcome of its request. */
function createCommits(tables: Tables, processId: string) {
  const plannedOutcomes = new Map<PlaceOrder, PlannedOutcome>();
  return {
    plannedOutcomes,
    async commit(order: NewOrder): Promise<CommitOutcome> {
      const run = (what: string, effect: () => CommitOutcome) => tables.run(`${processId}: ${what}`, effect);
      const planned = plannedOutcomes.get(order.request);
      const what = `commit of ${order.id}`;
      if (planned === 'taken') return run(what, () => tables.insert(processId, order));
      if (planned === 'refused') return run(what, () => ({ kind: 'failed' }));
      if (planned === 'unknown_and_late') void run(`late ${what}`, () => tables.insert(processId, order));
      return run(`${what} (unknown)`, () => ({ kind: 'unknown' }));
    },
  };
}

/** The connection on which a process listens for notices. */
function createConnection(tables: Tables) {
  let isLost = false;
  let listenAgain: () => void = () => undefined;
  const sql = {
    async listen(_channel: string, hear: (payload: string) => void, listening: () => void) {
      tables.listeners.push({ hear: (payload) => isLost || hear(payload) });
      listenAgain = listening;
      listening();
      return { unlisten: async () => undefined };
    },
  } as unknown as Sql;
  return {
    sql,
    lose() {
      isLost = true;
    },
    restore() {
      isLost = false;
      listenAgain();
    },
  };
}
