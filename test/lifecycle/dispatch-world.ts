import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { buildDispatch, type Dispatch } from '../../src/app/dispatch.ts';
import type { Config } from '../../src/config.ts';
import { LoadedTiers } from '../../src/dispatch/loaded-tiers.ts';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import { OUTAGE_MS } from '../../src/dispatch/sweep.ts';
import type { OrderStatus } from '../../src/domain/order.ts';
import { DRIVER_SILENT_MS } from '../../src/limits.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { Closers } from '../../src/runtime/closers.ts';
import type { Store } from '../../src/store/store.ts';
import { createLogger } from '../../src/telemetry.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { noRelay } from '../harness/no-relay.ts';
import { storeOf } from '../harness/store.ts';
import { addDriverOnDuty, addOrder, addRetailer } from './orders.ts';

const logger = createLogger('silent');

export let database: FreshDatabase;
export let store: Store;
export let retailerId: string;
export let dispatch: Dispatch;
export let matcher: Matcher;
let closers: Closers;
/** Lead of the process's clock over the machine's. */
let clockLeadMs = 0;
/** Time for which a process was there before its test. */
const SWEPT_MS = DRIVER_SILENT_MS + 2 * OUTAGE_MS;

/**
 * A process's dispatch on real tables: the test file that calls this gets its own database, and each of its tests a
 * new process.
 */
export function useDispatchWorld(): void {
  beforeAll(async () => {
    database = await freshDatabase({ max: 10 });
    store = storeOf(database.sql);
    retailerId = await addRetailer(database.sql);
  });
  afterAll(() => database?.drop());

  beforeEach(async () => {
    // No driver of an earlier test is on duty.
    await database.sql`update drivers set on_duty = false`;
    await database.sql`update orders set status = 'cancelled' where status = 'pending_dispatch'`;
    closers = new Closers(logger);
    clockLeadMs = -SWEPT_MS;
    ({ dispatch, matcher } = await startDispatch(store));
    clockLeadMs = 0;
  });
  afterEach(() => closers.closeAll());
}

/**
 * The dispatch of one more process, until the end of the test.
 *
 * @param tables the statements on its connections
 * @param releasesPerHour orders that a driver may give back within an hour; 0 for no bound
 * @param now the time by the process's clock, in milliseconds
 */
export async function startDispatch(
  tables: Store,
  releasesPerHour = 0,
  now = () => Date.now() + clockLeadMs,
): Promise<{ readonly dispatch: Dispatch; readonly matcher: Matcher }> {
  const tiers = await tables.loadTiers();
  const memory = new Matcher(tiers);
  const events = new OrderEvents();
  const started = buildDispatch({
    config: { geocoderUrl: null, releasesPerHour, sms: { delaySeconds: 0 } } as Config,
    database: { isAway: () => false },
    store: tables,
    matcher: memory,
    tiers: new LoadedTiers(tables, memory),
    relay: noRelay,
    paymentWait: { paymentWithin: async () => 'processing' },
    pace: { orderTook: () => undefined },
    events,
    clock: { now },
    logger,
    closers,
  });
  events.subscribe({ driverFreed: (driverId) => started.redispatch.driverAvailable(driverId) });
  return { dispatch: started, matcher: memory };
}

/** As if this process had swept without an outage for longer than a silence lasts. */
export async function sweepForLong(): Promise<void> {
  for (clockLeadMs = -SWEPT_MS; clockLeadMs < 0; clockLeadMs += OUTAGE_MS / 2) await dispatch.sweep.run();
  clockLeadMs = 0;
}

/** Reads the tables into memory, as a start does. */
export const readEverything = () => dispatch.fleet.rebuild();

/** An order in a status, and a driver who carries it. */
export async function carrying(status: OrderStatus): Promise<{ orderId: string; driverId: string }> {
  const driverId = await addDriverOnDuty(database.sql);
  return { driverId, orderId: await addOrder(database.sql, retailerId, status, driverId) };
}
