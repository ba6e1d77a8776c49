import { listenForNotices } from '../bus/notices.ts';
import { createBatches } from '../dispatch/batches.ts';
import { MAX_NEWS_BATCH, REDISPATCH_SWEEP_MS } from '../limits.ts';
import type { Sql } from '../store/connect.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import type { Closers } from './closers.ts';
import type { Announce, Dispatch } from './dispatch.ts';

/**
 * Keeps an API process in step with what others commit, and sweeps the waiting orders. Whenever listening begins again
 * everything is read anew, since notices may have been missed. Resolves when the first reading is done.
 */
export async function followNews(
  parts: {
    readonly sql: Sql;
    readonly origin: string;
    readonly dispatch: Dispatch;
    readonly announce: Announce;
    readonly reloadTiers: () => Promise<void>;
    readonly paymentsMayBeSettled: (orderIds: readonly string[]) => Promise<void>;
    readonly everythingChanged: () => void;
  },
  logger: Logger,
  closers: Closers,
): Promise<void> {
  const { fleet, redispatch, driverAvailable } = parts.dispatch;

  async function ordersChanged(ids: readonly string[]): Promise<void> {
    const holders = ids.map((id) => fleet.holderOf(id));
    const news = await fleet.refreshOrders(ids);
    for (const { orderId, driverId, waiting } of news) {
      parts.announce.orderChanged(orderId, driverId);
      if (waiting) await redispatch.orderWaits(orderId);
    }
    // Who held one of them may be free now, or carry it in another status; also one who carried it without this process
    // knowing, and was passed over here as lost.
    for (const id of new Set([...holders, ...news.map((order) => order.driverId)])) {
      if (id == null) continue;
      parts.announce.driverChanged(id);
      driverAvailable(id);
    }
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

  const failed = (error: unknown) =>
    logger.warn({ err: errorFields(error) }, 'news of other processes could not be read');
  const orders = createBatches(ordersChanged, MAX_NEWS_BATCH, failed);
  const details = createBatches(detailsChanged, MAX_NEWS_BATCH, failed);
  const drivers = createBatches(driversChanged, MAX_NEWS_BATCH, failed);
  let first = true;
  const stop = await listenForNotices(
    parts.sql,
    parts.origin,
    {
      async changed(kind, ids, own) {
        // Of our own only the commit of an order is news, where nobody knew whether it would come.
        const isUnsettled = (id: string) => kind === 'order' && parts.dispatch.unsettled.delete(id);
        const news = own ? ids.filter(isUnsettled) : ids;
        if (news.length === 0) return;
        if (kind === 'order') orders.add(news);
        else if (kind === 'details') details.add(news);
        else if (kind === 'driver') drivers.add(news);
        else {
          await parts.reloadTiers();
          // A greater radius reaches drivers that nothing else would bring to the orders that wait.
          void sweep();
        }
      },
      async listening() {
        // The first time is read below, by whoever waits for the start.
        if (!first) await readEverything();
        first = false;
      },
    },
    logger,
  );
  closers.add('notices', stop);
  await readEverything();
  const timer = setInterval(() => void sweep(), REDISPATCH_SWEEP_MS);
  closers.add('redispatch sweep', async () => {
    clearInterval(timer);
    await sweeping;
  });
}
