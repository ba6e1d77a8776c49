import {
  DRIVER_ACTIONS_KEPT_DAYS,
  END_LEASES_ROWS,
  OUTBOX_KEPT_DAYS,
  OUTBOX_PRUNE_ROWS,
  OUTBOX_SWEEP_MS,
  OUTBOX_SWEEP_ROWS,
  OUTBOX_SWEEP_SOON_MS,
  WEBHOOK_KEPT_DAYS,
} from '../limits.ts';
import type { Store } from '../store/store.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import type { QueueMemory } from './memory.ts';
import type { Relay } from './relay.ts';

export type SweeperStore = Pick<
  Store,
  'takeExpired' | 'endLeases' | 'pruneOutbox' | 'pruneDeliveries' | 'pruneDriverActions' | 'pruneRequests'
>;

/**
 * Relays again what nobody finished: a process died before it handed its rows over, a queue lost them or had no room, or
 * a job used up its attempts. Also deletes what is old enough. Nothing of that waits for what fails.
 */
export function startSweeper(
  store: SweeperStore,
  { relay, openQueues }: Pick<Relay, 'relay' | 'openQueues'>,
  memory: QueueMemory,
  logger: Logger,
): { close(): Promise<void> } {
  let running = Promise.resolve();
  let timer = setTimeout(next, OUTBOX_SWEEP_MS);
  let isClosed = false;

  function next(): void {
    running = sweep().then((more) => {
      if (!isClosed) timer = setTimeout(next, more ? OUTBOX_SWEEP_SOON_MS : OUTBOX_SWEEP_MS);
    });
  }

  /** Whether more is owed than was taken. */
  async function sweep(): Promise<boolean> {
    let taken = 0;
    await attempt('lost jobs', () => memory.check(endAllLeases));
    await attempt('owed jobs', async () => {
      // A row that is taken is leased anew, so none is taken that its queue would not get.
      const queues = await openQueues();
      const rows = queues.length > 0 ? await store.takeExpired(OUTBOX_SWEEP_ROWS, queues) : [];
      taken = rows.length;
      if (taken > 0) logger.info({ rows: taken }, 'owed jobs are relayed again');
      relay(rows);
    });
    await attempt('done jobs', () => store.pruneOutbox(OUTBOX_KEPT_DAYS, OUTBOX_PRUNE_ROWS));
    await attempt('webhook deliveries', () => store.pruneDeliveries(WEBHOOK_KEPT_DAYS, OUTBOX_PRUNE_ROWS));
    await attempt('driver actions', () => store.pruneDriverActions(DRIVER_ACTIONS_KEPT_DAYS, OUTBOX_PRUNE_ROWS));
    await attempt('undelivered replies', () => store.pruneRequests(OUTBOX_PRUNE_ROWS));
    return taken === OUTBOX_SWEEP_ROWS;
  }

  async function endAllLeases(): Promise<void> {
    let rows = 0;
    for (let ended = END_LEASES_ROWS; ended === END_LEASES_ROWS; rows += ended) {
      ended = await store.endLeases(END_LEASES_ROWS);
    }
    if (rows > 0) logger.warn({ rows }, 'the queues have lost their jobs; every owed one is relayed again');
  }

  async function attempt(what: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      logger.warn({ err: errorFields(error), what }, 'the sweeper could not do a part of its work');
    }
  }

  return {
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
