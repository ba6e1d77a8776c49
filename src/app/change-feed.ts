import { listenForNotices } from '../bus/notices.ts';
import { createBatches } from '../dispatch/batches.ts';
import { FEED_RETRY_MS, LOSS_REPORT_MS, MAX_FEED_BATCH, MAX_FEED_PENDING, REDISPATCH_SWEEP_MS } from '../limits.ts';
import type { Sql } from '../postgres/connect.ts';
import { classifyFailure } from '../postgres/failures.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';
import type { Closers } from './closers.ts';
import type { Dispatch, OrderEvents } from './dispatch.ts';

/**
 * Keeps an API process in step with what others commit, and sweeps the waiting orders. Whenever listening begins again
 * everything is read anew, since notices may have been missed. What can't be read while the database is away is tried until
 * it is back, for nobody tells of it a second time. Resolves when the first reading is done.
 */
export async function followChanges(
  parts: {
    readonly sql: Sql;
    readonly origin: string;
    readonly dispatch: Dispatch;
    readonly announce: OrderEvents;
    readonly reloadTiers: () => Promise<void>;
    readonly paymentsMayBeSettled: (orderIds: readonly string[]) => Promise<void>;
    readonly everythingChanged: () => void;
  },
  logger: Logger,
  closers: Closers,
): Promise<void> {
  const { fleet, redispatch, driverAvailable, unknownOutcomes } = parts.dispatch;

  async function ordersChanged(ids: readonly string[]): Promise<void> {
    const holders = ids.map((id) => fleet.holderOf(id));
    const news = await fleet.refreshOrders(ids);
    // Who held one of them may be free now, or carry it in another status; also one who carried it without this process
    // knowing, and was passed over here as lost.
    const drivers = [...new Set([...holders, ...news.map((order) => order.driverId)])].filter((id) => id != null);
    for (const { orderId, driverId } of news) parts.announce.orderChanged(orderId, driverId);
    for (const id of drivers) parts.announce.driverChanged(id);
    for (const { orderId, waiting } of news) if (waiting) await redispatch.orderWaits(orderId);
    for (const id of drivers) driverAvailable(id);
  }

  /** Neither who carries these orders nor whether they wait: pages are told, and replies that wait for a charge. */
  async function detailsChanged(ids: readonly string[]): Promise<void> {
    for (const orderId of ids) parts.announce.orderChanged(orderId, null);
    await parts.paymentsMayBeSettled(ids);
  }

  async function driversChanged(ids: readonly string[]): Promise<void> {
    await fleet.refreshDrivers(ids);
    for (const driverId of ids) {
      parts.announce.driverChanged(driverId);
      driverAvailable(driverId);
    }
  }

  async function readEverything(): Promise<void> {
    await parts.reloadTiers();
    await fleet.rebuild();
    redispatch.listening();
    parts.everythingChanged();
    void sweep();
  }

  let sweeping = Promise.resolve();
  function sweep(): Promise<void> {
    sweeping = redispatch
      .sweep()
      .catch((error) => logger.warn({ err: errorFields(error) }, 'waiting orders could not be swept'));
    return sweeping;
  }

  const report = atMostEvery(LOSS_REPORT_MS, (error: unknown) =>
    logger.warn({ err: errorFields(error) }, 'news of other processes could not be read'),
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
  const orders = batches(ordersChanged);
  const details = batches(detailsChanged);
  const drivers = batches(driversChanged);
  unknownOutcomes.onAdded((orderId) => orders.add([orderId]));
  let first = true;
  const stop = await listenForNotices(
    parts.sql,
    parts.origin,
    {
      async changed(kind, ids, own) {
        // Of our own only a write to an order is news, where nobody knew whether it would come.
        const news = own ? ids.filter((id) => kind === 'order' && unknownOutcomes.has(id)) : ids;
        if (news.length === 0) return;
        if (kind === 'order') orders.add(news);
        else if (kind === 'details') details.add(news);
        else if (kind === 'driver') drivers.add(news);
        // A greater radius reaches drivers that nothing else would bring to the orders that wait.
        else await parts.reloadTiers().then(sweep, readAnew);
      },
      listening() {
        // The first time is read below, by whoever waits for the start.
        if (!first) readAnew();
        first = false;
      },
    },
    logger,
  );
  closers.add('notices', async () => {
    for (const news of [everything, orders, details, drivers]) news.close();
    await stop();
  });
  await readEverything();
  const timer = setInterval(() => void sweep(), REDISPATCH_SWEEP_MS);
  closers.add('redispatch sweep', async () => {
    clearInterval(timer);
    await sweeping;
  });
}
