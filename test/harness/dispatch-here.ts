import { followChanges } from '../../src/app/change-feed.ts';
import { buildDispatch, type Dispatch } from '../../src/app/dispatch.ts';
import type { Config } from '../../src/config.ts';
import { LoadedTiers } from '../../src/dispatch/loaded-tiers.ts';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import type { PaymentStatus } from '../../src/domain/order.ts';
import type { Matcher } from '../../src/matcher/matcher.ts';
import { Closers } from '../../src/runtime/closers.ts';
import type { Database } from '../../src/runtime/database.ts';
import type { Store } from '../../src/store/store.ts';
import { createLogger } from '../../src/telemetry.ts';
import { noRelay } from './no-relay.ts';
import { NO_SECRETS } from './secrets.ts';

export type DispatchParts = {
  readonly store: Store;
  readonly matcher: Matcher;
  /** Where it hears notices. */
  readonly sql: Pick<Database['sql'], 'listen'>;
  readonly processId: string;
  readonly clock: { now(): number };
  /** Where its tiers are read; by default in its store. */
  readonly tierSource?: Pick<Store, 'loadTiers'>;
  /** Whether idle drivers are asked to wait where orders are expected. */
  readonly idleDriversWait?: boolean;
  readonly config?: Partial<Config>;
  /** Changes it before it is used, to plant a bug. */
  readonly change?: ((dispatch: Dispatch) => void) | undefined;
};

/**
 * The dispatch of one API process, with its planner and its change feed: everything but HTTP and the queues. It begins
 * as a real one does, by reading everything.
 */
export async function startDispatch(process: DispatchParts) {
  const { sql, processId, tierSource, change, idleDriversWait, config: changes, ...own } = process;
  const { store, matcher } = own;
  const logger = createLogger('silent');
  const closers = new Closers(logger);
  const paymentWait = {
    paymentWithin: async (): Promise<PaymentStatus> => 'processing',
    recheck: async () => undefined,
  };
  const events = new OrderEvents();
  const pace = { orderTook: () => undefined };
  const tiers = new LoadedTiers(tierSource ?? store, matcher);
  const parts = { ...own, tiers, relay: noRelay, paymentWait, pace, events, logger, closers };
  const usual = { geocoderUrl: null, releasesPerHour: 0, sms: { delaySeconds: 0 }, idleDriversWait };
  const config = { ...usual, ...changes } as Config;
  const dispatch = buildDispatch({ ...parts, config, database: { isAway: () => false } });
  change?.(dispatch);
  events.subscribe({ driverFreed: (driverId) => dispatch.redispatch.driverAvailable(driverId) });
  const forget = () => undefined;
  const credentials = { stores: { forget }, organizations: { forget }, drivers: { forget } };
  const database = { sql: sql as Database['sql'], processId };
  await followChanges({ ...parts, ...dispatch, credentials, secrets: NO_SECRETS, database });
  dispatch.startPlanning();
  return { dispatch, parts };
}
