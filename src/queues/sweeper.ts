import { atMost, below, MAX_PAYMENT_ATTEMPTS } from '../limits.ts';
import { WEBHOOK_QUEUES } from '../store/events/webhook-parts.ts';
import type { EndedLeases, LastLease } from '../store/outbox.ts';
import type { QueueName } from '../store/outbox-rows.ts';
import type { Store } from '../store/store.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import type { JobLossCheck } from './job-loss.ts';
import type { Relay } from './relay.ts';

/** Interval at which the sweeper looks for owed rows whose lease has ended. */
export const OUTBOX_SWEEP_MS = 5_000;
/** Most rows that one sweep takes. */
export const OUTBOX_SWEEP_ROWS = 1_000;
/** Pause before the next sweep where more rows are owed, or a command owes some. Below OUTBOX_SWEEP_MS. */
export const OUTBOX_SWEEP_SOON_MS = 250;
/** Leases that one statement looks at, and ends, after Redis has lost its jobs; a tenth of a second. */
export const END_LEASES_ROWS = 5_000;
/** Days for which done rows are kept for inspection. */
export const OUTBOX_KEPT_DAYS = 7;
/** Most rows that one statement prunes. */
export const OUTBOX_PRUNE_ROWS = 5_000;
/** Days for which drivers' actions are remembered, so that a repeated one gets its first answer. */
export const DRIVER_ACTIONS_KEPT_DAYS = 7;
/** Declined charges that one statement makes owed again when their time has come. */
const DUE_CHARGES_ROWS = 500;
/** Days for which the counts of texts are kept. */
const TEXT_COUNT_DAYS = 2;
/** Most receivers with parked deliveries that one sweep tries. At most OUTBOX_SWEEP_ROWS. */
const RECEIVERS_PER_SWEEP = 500;
/** Most parked deliveries that a statement gives up; a third of a second. */
const PARKED_ENDED_ROWS = 5_000;
/** Days for which deliveries are kept to be listed and replayed. Above WEBHOOK_TRIED_SECONDS. */
export const WEBHOOK_KEPT_DAYS = 30;
/** Days for which events are kept. */
const EVENTS_KEPT_DAYS = 30;
/** Most ended keys that one statement marks as revoked. */
export const ENDED_KEYS_ROWS = 500;

below({ OUTBOX_SWEEP_SOON_MS }, { OUTBOX_SWEEP_MS });
atMost({ RECEIVERS_PER_SWEEP }, { OUTBOX_SWEEP_ROWS });

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
  | 'endPausesAhead'
>;

/**
 * Relays owed jobs again: a process died before it handed them over, a queue lost them or had no room, or
 * they used up their attempts. Also has declined charges tried again whose time has come, tries receivers
 * behind which deliveries are parked, prunes old rows, and ends pauses of the queues that a wrong clock has set. A
 * step that fails does not keep the others from running.
 */
export function startSweeper(
  store: SweeperStore,
  { relay, openQueues, roomUntil }: Pick<Relay, 'relay' | 'openQueues' | 'roomUntil'>,
  jobLoss: JobLossCheck,
  logger: Logger,
) {
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
      const most = atMostNow(OUTBOX_SWEEP_ROWS);
      const rows = open.length > 0 && most > 0 ? await store.takeExpired(most, open) : [];
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
      const most = atMostNow(RECEIVERS_PER_SWEEP);
      if (isOpen && most > 0) relay(await store.releaseParked(most));
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
    await attempt('pauses of a wrong clock', () => store.endPausesAhead());
    return taken === OUTBOX_SWEEP_ROWS;
  }

  const atMostNow = (rows: number): number => Math.min(rows, roomUntil(OUTBOX_SWEEP_MS));

  async function endAllLeases(): Promise<void> {
    let rows = 0;
    let after: LastLease | null = null;
    do {
      const part: EndedLeases = await store.endLeases(END_LEASES_ROWS, after);
      rows += part.rows;
      after = part.last;
    } while (after !== null);
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
    /** Sweeps within OUTBOX_SWEEP_SOON_MS and the time of a sweep, however often it is called. */
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
