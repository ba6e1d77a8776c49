import {
  DRIVER_ACTIONS_KEPT_DAYS,
  DUE_CHARGES_ROWS,
  END_LEASES_ROWS,
  ENDED_KEYS_ROWS,
  EVENTS_KEPT_DAYS,
  MAX_PAYMENT_ATTEMPTS,
  OUTBOX_KEPT_DAYS,
  OUTBOX_PRUNE_ROWS,
  OUTBOX_SWEEP_MS,
  OUTBOX_SWEEP_ROWS,
  OUTBOX_SWEEP_SOON_MS,
  PARKED_ENDED_ROWS,
  RECEIVERS_PER_SWEEP,
  TEXT_COUNT_DAYS,
  WEBHOOK_KEPT_DAYS,
} from '../limits.ts';
import type { QueueName } from '../store/outbox-rows.ts';
import type { Store } from '../store/store.ts';
import { WEBHOOK_QUEUES } from '../store/webhook-parts.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import type { JobLossCheck } from './job-loss.ts';
import type { Relay } from './relay.ts';

export type SweeperStore = Pick<
  Store,
  | 'takeExpired'
  | 'retryDueCharges'
  | 'endLeases'
  | 'releaseParked'
  | 'endParked'
  | 'pruneOutbox'
  | 'pruneDeliveries'
  | 'pruneDriverActions'
  | 'pruneEvents'
  | 'pruneRequests'
  | 'pruneTextCounts'
  | 'forgetOldSecrets'
  | 'revokeEndedKeys'
>;

export type Sweeper = {
  /** Sweeps within OUTBOX_SWEEP_SOON_MS and the time of a sweep, however often it is called. */
  sweepSoon(): void;
  close(): Promise<void>;
};

/**
 * Relays owed jobs again: a process died before it handed them over, a queue lost them or had no room, or
 * they used up their attempts. Also has declined charges tried again whose time has come, tries receivers
 * behind which deliveries are parked, and prunes old rows. A step that fails does not keep the others from
 * running.
 */
export function startSweeper(
  store: SweeperStore,
  { relay, openQueues }: Pick<Relay, 'relay' | 'openQueues'>,
  jobLoss: JobLossCheck,
  logger: Logger,
): Sweeper {
  let running: Promise<void> | null = null;
  let timer = setTimeout(next, OUTBOX_SWEEP_MS);
  let isSoon = false;
  let isClosed = false;

  function next(): void {
    isSoon = false;
    running = sweep().then((more) => {
      running = null;
      isSoon ||= more;
      if (!isClosed) timer = setTimeout(next, isSoon ? OUTBOX_SWEEP_SOON_MS : OUTBOX_SWEEP_MS);
    });
  }

  /** Returns whether more rows may be owed than were taken. */
  async function sweep(): Promise<boolean> {
    let taken = 0;
    let open: readonly QueueName[] = [];
    await attempt('lost jobs', () => jobLoss.check(endAllLeases));
    await attempt('owed jobs', async () => {
      // Taking a row leases it anew, so only rows of queues with room are taken.
      open = await openQueues();
      const rows = open.length > 0 ? await store.takeExpired(OUTBOX_SWEEP_ROWS, open) : [];
      taken = rows.length;
      if (taken > 0) logger.info({ rows: taken }, 'owed jobs are relayed again');
      relay(rows);
    });
    await attempt('declined charges', async () => {
      const again = await store.retryDueCharges(MAX_PAYMENT_ATTEMPTS, DUE_CHARGES_ROWS);
      relay(again.flatMap(({ outbox }) => outbox));
    });
    await attempt('parked webhooks', async () => {
      const isOpen = WEBHOOK_QUEUES.every((queue) => open.includes(queue));
      if (isOpen) relay(await store.releaseParked(RECEIVERS_PER_SWEEP));
    });
    await attempt('webhooks without a receiver', () => store.endParked(PARKED_ENDED_ROWS));
    await attempt('done jobs', () => store.pruneOutbox(OUTBOX_KEPT_DAYS, OUTBOX_PRUNE_ROWS));
    await attempt('webhook deliveries', () => store.pruneDeliveries(WEBHOOK_KEPT_DAYS, OUTBOX_PRUNE_ROWS));
    await attempt('events', () => store.pruneEvents(EVENTS_KEPT_DAYS, OUTBOX_PRUNE_ROWS));
    await attempt('driver actions', () => store.pruneDriverActions(DRIVER_ACTIONS_KEPT_DAYS, OUTBOX_PRUNE_ROWS));
    await attempt('counts of texts', () => store.pruneTextCounts(TEXT_COUNT_DAYS, OUTBOX_PRUNE_ROWS));
    await attempt('old secrets of webhooks', () => store.forgetOldSecrets());
    await attempt('undelivered replies', () => store.pruneRequests(OUTBOX_PRUNE_ROWS));
    await attempt('ended keys', () => store.revokeEndedKeys(ENDED_KEYS_ROWS));
    return taken === OUTBOX_SWEEP_ROWS;
  }

  async function endAllLeases(): Promise<void> {
    let rows = 0;
    for (let ended = END_LEASES_ROWS; ended === END_LEASES_ROWS; rows += ended) {
      ended = await store.endLeases(END_LEASES_ROWS);
    }
    if (rows > 0) logger.warn({ rows }, 'the queues have lost their jobs; every owed job is relayed again');
  }

  async function attempt(what: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      logger.warn({ err: errorFields(error), what }, 'a step of the sweep failed');
    }
  }

  return {
    sweepSoon() {
      if (isSoon || isClosed) return;
      isSoon = true;
      // The sweep under way may have looked already; it sets the next one's time.
      if (running) return;
      clearTimeout(timer);
      timer = setTimeout(next, OUTBOX_SWEEP_SOON_MS);
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
