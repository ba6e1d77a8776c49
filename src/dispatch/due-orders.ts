import { setImmediate as nextTurn } from 'node:timers/promises';
import { FEED_RETRY_MS, MAX_WAITING_ORDERS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Clock } from '../postgres/clock.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import { createBatches } from './batches.ts';
import { MATCHED_AT_ONCE, type Redispatch } from './redispatch.ts';

/** Longest time for which a timer for the next due order is set; the measured clock may change meanwhile. */
const DUE_TIMER_MS = 30_000;
/** Orders for later that one turn of the event loop wakes; about 10 ms. */
export const DUE_SLICE = 1_000;

/**
 * Sends orders out in time: a timer for the one that is due next. Each API process wakes all of them, and the
 * row decides who gets one. Then the orders wait like any other, so the sweep makes up for what fails here.
 */
export function startDueOrders(parts: {
  readonly matcher: Matcher;
  readonly redispatch: Pick<Redispatch, 'matchOrders'>;
  readonly clock: Clock;
  readonly logger: Logger;
}): { close(): void } {
  const { matcher, redispatch, clock, logger } = parts;
  const failed = (error: unknown): boolean => {
    logger.warn({ err: errorFields(error) }, 'orders that are due could not be matched');
    return false;
  };
  const bounds = { maxBatch: MATCHED_AT_ONCE, maxWaiting: MAX_WAITING_ORDERS, retryMs: FEED_RETRY_MS };
  const due = createBatches(match, bounds, failed, () => undefined);
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function setTimer(): void {
    const dueMs = matcher.nextDueMs();
    clearTimeout(timer);
    if (dueMs === undefined || isClosed) return;
    timer = setTimeout(wake, Math.max(0, Math.min(dueMs - clock.now(), DUE_TIMER_MS)));
    timer.unref();
  }

  function wake(): void {
    due.add(matcher.wake(clock.now(), DUE_SLICE));
    setTimer();
  }

  async function match(orderIds: readonly string[]): Promise<void> {
    await redispatch.matchOrders(matcher.sortByClaim(orderIds, clock.now()));
    await nextTurn();
  }

  matcher.whenNextDueChanges(setTimer);
  setTimer();
  return {
    close() {
      isClosed = true;
      clearTimeout(timer);
      due.close();
    },
  };
}
