import { below, LOSS_REPORT_MS } from '../limits.ts';
import type { JobPace } from '../queues/job-pace.ts';
import type { Relay } from '../queues/relay.ts';
import { EVENTS_PER_STATEMENT } from '../store/events/events.ts';
import type { Store } from '../store/store.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';

/** Pause between two such statements, so that the events of many commits share one. */
export const EVENT_TURN_MS = 100;
/** The same pause while jobs yield to orders. Above EVENT_TURN_MS; 2,000 events a second still get numbers. */
export const EVENT_YIELD_MS = 500;
/** Interval at which the writer looks for events whose notice was lost. Above EVENT_YIELD_MS. */
export const EVENT_SWEEP_MS = 2_000;

below({ EVENT_TURN_MS }, { EVENT_YIELD_MS });
below({ EVENT_YIELD_MS }, { EVENT_SWEEP_MS });

/**
 * Gives the events that stores are told of their numbers, and relays the jobs of their webhooks. A turn comes
 * at once after a time without any, and then each EVENT_TURN_MS; while jobs yield to orders, each
 * EVENT_YIELD_MS. Without a wake there is one each EVENT_SWEEP_MS, for events whose notice was lost. A turn after one
 * that failed takes half as many events, as those of before may take longer than a statement may.
 *
 * Every process with workers has one. Their turns follow each other by the lock of a row, so it does not
 * matter which of them dies.
 */
export function startEventWriter(
  store: Pick<Store, 'numberEvents'>,
  relay: Pick<Relay, 'relay'>,
  pace: Pick<JobPace, 'isYielding'>,
  logger: Logger,
) {
  /** Whether events may be without a number. */
  let isOwed = true;
  let hasWebhooks = true;
  let most = EVENTS_PER_STATEMENT;
  /** When the next turn may come, by `performance.now`. */
  let dueMs = 0;
  let running: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const report = atMostEvery(LOSS_REPORT_MS, (error: unknown) =>
    logger.warn({ err: errorFields(error) }, 'events could not be numbered'),
  );

  function schedule(): void {
    if (isClosed || running) return;
    clearTimeout(timer);
    timer = setTimeout(next, isOwed ? Math.max(0, dueMs - performance.now()) : EVENT_SWEEP_MS);
  }

  function next(): void {
    running = turn().finally(() => {
      running = null;
      schedule();
    });
  }

  async function turn(): Promise<void> {
    // What is committed from here on wakes the next turn.
    isOwed = false;
    let pauseMs = pace.isYielding ? EVENT_YIELD_MS : EVENT_TURN_MS;
    try {
      const done = await store.numberEvents(hasWebhooks, most);
      most = Math.min(most * 2, EVENTS_PER_STATEMENT);
      relay.relay(done.outbox);
      isOwed ||= done.isMore;
      if (done.hasWebhooks && !hasWebhooks) pauseMs = 0;
      hasWebhooks = done.hasWebhooks;
    } catch (error) {
      report(error);
      most = Math.max(1, Math.floor(most / 2));
      isOwed = true;
      pauseMs = EVENT_YIELD_MS;
    }
    dueMs = performance.now() + pauseMs;
  }

  schedule();
  return {
    /** Events may be without a number: gives them theirs soon, however often it is called. */
    wake() {
      if (isOwed) return;
      isOwed = true;
      schedule();
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
