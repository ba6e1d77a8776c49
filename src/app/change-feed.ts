import { setTimeout as pause } from 'node:timers/promises';
import { listenForNotices, type Notice, type NoticeKind } from '../bus/notices.ts';
import { createBatches } from '../dispatch/batches.ts';
import type { Fleet } from '../dispatch/fleet.ts';
import type { GivenOrders } from '../dispatch/given-orders.ts';
import type { LoadedTiers } from '../dispatch/loaded-tiers.ts';
import type { OrderEvents } from '../dispatch/order-events.ts';
import type { PaymentWait } from '../dispatch/payment-wait.ts';
import type { Redispatch } from '../dispatch/redispatch.ts';
import type { StoreHolds } from '../dispatch/store-holds.ts';
import { REDISPATCH_SWEEP_MS, type Sweep } from '../dispatch/sweep.ts';
import type { UnknownOutcomes } from '../dispatch/unknown-outcomes.ts';
import {
  below,
  FEED_RETRY_MS,
  LOSS_REPORT_MS,
  MAX_FEED_BATCH,
  MAX_FEED_PENDING,
  QUERY_DEADLINE_MS,
} from '../limits.ts';
import { classifyFailure } from '../postgres/failures.ts';
import type { Closers } from '../runtime/closers.ts';
import type { Database } from '../runtime/database.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';
import type { CredentialCaches, SecretsFeed } from './credential-caches.ts';

export type ChangeFeedParts = {
  readonly database: Pick<Database, 'sql' | 'processId'>;
  readonly fleet: Pick<Fleet, 'holderOf' | 'refreshOrders' | 'refreshDrivers' | 'rebuild'>;
  readonly given: GivenOrders;
  readonly redispatch: Pick<Redispatch, 'driverAvailable' | 'matchOrder'>;
  readonly holds: Pick<StoreHolds, 'reload' | 'refresh'>;
  readonly sweep: Sweep;
  readonly unknownOutcomes: Pick<UnknownOutcomes, 'has' | 'takeGift' | 'giftIds' | 'settle'>;
  readonly tiers: Pick<LoadedTiers, 'reload'>;
  readonly credentials: {
    readonly [Kind in 'stores' | 'organizations' | 'drivers']: Pick<CredentialCaches[Kind], 'forget'>;
  };
  readonly secrets: SecretsFeed;
  readonly paymentWait: Pick<PaymentWait, 'recheck'>;
  readonly events: OrderEvents;
  readonly logger: Logger;
  readonly closers: Closers;
};

/**
 * Time after which a start gives up its first read. On a machine that is busy, as after a crash, the reply with every
 * driver may take longer than QUERY_DEADLINE_MS, and another start would cost more than another read.
 */
const FIRST_READ_MS = 30_000;

below({ QUERY_DEADLINE_MS }, { FIRST_READ_MS });

/**
 * The changes that reach memory by their notice alone, also those that this process made: of stores, whose holds
 * its jobs change too, and of doors, which its jobs find.
 */
const READ_BY_NOTICE: ReadonlySet<NoticeKind> = new Set(['retailer', 'door']);

/**
 * The change feed: keeps an API process in step with what other processes commit, and sweeps the waiting
 * orders. After listening was interrupted everything is read again, because notices may have been missed. A
 * read that fails while the database is away is repeated until it succeeds, because a notice comes only once.
 * Resolves after the first read, which is tried again for FIRST_READ_MS; then its error is thrown.
 */
export async function followChanges(parts: ChangeFeedParts): Promise<void> {
  const { fleet, holds, unknownOutcomes, events, tiers, credentials, secrets, logger, closers } = parts;
  const { ordersChanged, detailsChanged, doorsFound, driversChanged } = createChangeHandlers(parts);

  async function readEverything(): Promise<void> {
    // A table with too many rows fails: the tiers of before are good enough for the rest.
    const tiersRead = await Promise.allSettled([tiers.reload()]);
    await holds.reload();
    await secrets.readAll();
    await fleet.rebuild();
    // The notice of one may have been missed, and nobody else rings its driver.
    changed.order.add(unknownOutcomes.giftIds());
    events.everythingChanged();
    void sweep();
    for (const read of tiersRead) if (read.status === 'rejected') throw read.reason;
  }

  async function firstRead(): Promise<void> {
    const untilMs = performance.now() + FIRST_READ_MS;
    for (;;) {
      try {
        return await readEverything();
      } catch (error) {
        if (!failed(error) || performance.now() > untilMs) throw error;
        await pause(FEED_RETRY_MS);
      }
    }
  }

  let sweeping = Promise.resolve();
  function sweep(): Promise<void> {
    sweeping = Promise.all([holds.reload(), parts.sweep.run()])
      .then(() => undefined)
      .catch((error) => logger.warn({ err: errorFields(error) }, 'waiting orders could not be swept'));
    return sweeping;
  }

  const report = atMostEvery(LOSS_REPORT_MS, (error: unknown) =>
    logger.warn({ err: errorFields(error) }, 'changes of other processes could not be read'),
  );
  const failed = (error: unknown): boolean => {
    report(error);
    return !['bug', 'refused_row'].includes(classifyFailure(error));
  };
  const bounds = { maxBatch: MAX_FEED_BATCH, maxWaiting: MAX_FEED_PENDING, retryMs: FEED_RETRY_MS };
  const batches = (handle: (ids: readonly string[]) => Promise<void>) =>
    createBatches(handle, bounds, failed, readAnew);
  const everything = batches(readEverything);
  function readAnew(): void {
    everything.add(['everything']);
  }
  const changed = {
    order: batches(ordersChanged),
    details: batches(detailsChanged),
    door: batches(doorsFound),
    driver: batches(driversChanged),
    retailer: batches((ids) => holds.refresh(ids)),
    key: batches((ids) => secrets.read('key', ids)),
    token: batches((ids) => secrets.read('token', ids)),
    tracker: batches((ids) => secrets.read('tracker', ids)),
    organization_key: batches((ids) => secrets.read('organization_key', ids)),
  };
  events.subscribe({
    // It is read at once, because the notice of the write may be minutes late or never come.
    outcomeUnknown: (orderId) => changed.order.add([orderId]),
    driverUnknown: (driverId) => changed.driver.add([driverId]),
    storeChanged: (retailerId) => changed.retailer.add([retailerId]),
  });

  async function noticed({ kind, ids, own, paid, given }: Notice): Promise<void> {
    if (kind === 'word') {
      if (own) for (const word of ids) secrets.heard(word);
      return;
    }
    // What this process changed of an order or a driver is in memory with the reply; where there was none, its
    // notice counts.
    const isDoubtful = (id: string) => (kind === 'order' || kind === 'driver') && unknownOutcomes.has(id);
    const isFresh = (id: string) => READ_BY_NOTICE.has(kind) || isDoubtful(id);
    const isTaken = (id: string) => {
      const order = given.get(id);
      return order !== undefined && !isDoubtful(id) && parts.given.take(id, order);
    };
    const fresh = ids.filter((id) => (own ? isFresh(id) : !isTaken(id)));
    if (fresh.length === 0) return;
    if (kind === 'organization') {
      credentials.organizations.forget(({ organizationId }) => fresh.includes(organizationId));
      return;
    }
    if (kind === 'key' || kind === 'token' || kind === 'tracker' || kind === 'organization_key') {
      secrets.noticed(kind, fresh);
    }
    if (kind === 'key') credentials.stores.forget(({ retailerId }) => fresh.includes(retailerId));
    if (kind === 'token') {
      credentials.drivers.forget(({ driverId }) => fresh.includes(driverId));
      for (const id of fresh) events.tokenChanged(id);
    }
    if (paid) for (const id of fresh) events.paymentRecorded(id, 'paid');
    else if (kind === 'everything') readAnew();
    // A larger radius may reach drivers for waiting orders, and no other event would match them.
    else if (kind === 'tier') await tiers.reload().then(sweep, readAnew);
    else if (kind !== 'jobs' && kind !== 'events') {
      if (kind === 'retailer') {
        credentials.stores.forget(({ retailerId }) => fresh.includes(retailerId));
        credentials.organizations.forget(({ retailerIds }) => fresh.some((id) => retailerIds.includes(id)));
      }
      if (kind === 'driver') credentials.drivers.forget(({ driverId }) => fresh.includes(driverId));
      changed[kind].add(fresh);
    }
  }

  let first = true;
  const stop = await listenForNotices(
    parts.database.sql,
    parts.database.processId,
    {
      changed: noticed,
      listening() {
        // The first read is below, where the start waits for it.
        if (!first) {
          secrets.interrupted();
          readAnew();
        }
        first = false;
      },
    },
    logger,
  );
  closers.add('notices', async () => {
    for (const batch of [everything, ...Object.values(changed)]) batch.close();
    await stop();
  });
  await firstRead();
  const timer = setInterval(() => {
    void sweep();
    // While no store asks for anything, nobody else would notice that this process does not hear.
    secrets.ask();
  }, REDISPATCH_SWEEP_MS);
  closers.add('redispatch sweep', async () => {
    clearInterval(timer);
    await sweeping;
  });
}

/** What follows the changes of other processes, by the kind of their notices. */
function createChangeHandlers({ fleet, redispatch, unknownOutcomes, events, paymentWait }: ChangeFeedParts) {
  async function ordersChanged(ids: readonly string[]): Promise<void> {
    const holders = ids.map((id) => fleet.holderOf(id));
    const states = await fleet.refreshOrders(ids);
    // A driver who held one of the orders may be free now or carry it in another status. So may one who
    // carried it without this process's knowledge, and was lost to a claim here.
    const drivers = [...new Set([...holders, ...states.map((order) => order.driverId)])].filter((id) => id != null);
    for (const { orderId, driverId, status } of states) {
      events.orderChanged(orderId, driverId);
      // This process gave it and had no answer: nobody else rings the driver. An order that ended keeps its driver.
      const isGiven = status === 'driver_assigned' && driverId !== null;
      if (isGiven && unknownOutcomes.takeGift(orderId, driverId)) events.orderGiven(driverId);
    }
    unknownOutcomes.settle(ids);
    for (const id of drivers) events.driverChanged(id);
    for (const { orderId, waiting } of states) if (waiting) await redispatch.matchOrder(orderId);
    for (const id of drivers) redispatch.driverAvailable(id);
  }

  /** Details concern live pages and replies that wait for a charge, but neither drivers nor the matcher. */
  async function detailsChanged(ids: readonly string[]): Promise<void> {
    for (const orderId of ids) events.detailsChanged(orderId);
    await paymentWait.recheck(ids);
  }

  async function doorsFound(ids: readonly string[]): Promise<void> {
    for (const { driverId } of await fleet.refreshOrders(ids)) if (driverId !== null) events.driverChanged(driverId);
  }

  async function driversChanged(ids: readonly string[]): Promise<void> {
    await fleet.refreshDrivers(ids);
    for (const driverId of ids) {
      events.driverChanged(driverId);
      redispatch.driverAvailable(driverId);
    }
  }

  return { ordersChanged, detailsChanged, doorsFound, driversChanged };
}
