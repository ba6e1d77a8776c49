import type { Redispatch } from '../dispatch/redispatch.ts';
import {
  SANDBOX_KEPT_ORDERS,
  SANDBOX_SURPLUS_AGE_MS,
  SANDBOX_SURPLUS_ORDERS,
  SANDBOX_TIDY_MS,
  SANDBOX_TIDY_ORDERS,
} from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Clock } from '../postgres/clock.ts';
import { errorFields, type Logger } from '../telemetry.ts';

type TidyingParts = {
  readonly matcher: Pick<Matcher, 'waitingCount'>;
  readonly redispatch: Pick<Redispatch, 'expireSurplus'>;
  readonly clock: Clock;
};

/**
 * Keeps the sandbox usable after a load test: its few drivers serve the oldest order first, so tens of
 * thousands of them would hold up the next one for hours. Closing waits for the statement in flight.
 */
export function startTidying({ logger, ...parts }: TidyingParts & { readonly logger: Logger }): {
  close(): Promise<void>;
} {
  const tidy = createTidying(parts);
  let running = Promise.resolve();
  let timer = setTimeout(next, SANDBOX_TIDY_MS);
  let isClosed = false;

  function next(): void {
    running = tidy()
      .catch((error) => {
        logger.warn({ err: errorFields(error) }, 'surplus orders could not be expired');
        return 'later' as const;
      })
      .then((when) => {
        if (!isClosed) timer = setTimeout(next, when === 'now' ? 0 : SANDBOX_TIDY_MS);
      });
  }

  return {
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/**
 * Each call expires a part of the surplus, and returns when to call again. Once more orders wait than
 * SANDBOX_SURPLUS_ORDERS, the surplus is everything that waited by then, not just what is above that number:
 * a few hundred orders would still hold up the next one for many minutes.
 */
export function createTidying({ matcher, redispatch, clock }: TidyingParts): () => Promise<'now' | 'later'> {
  /** When too many orders waited last; null while there is no surplus. */
  let fullAtMs: number | null = null;

  return async function tidy() {
    const waiting = matcher.waitingCount();
    const ofAgeMs = clock.now() - SANDBOX_SURPLUS_AGE_MS;
    if (waiting > SANDBOX_SURPLUS_ORDERS) fullAtMs = clock.now();
    if (fullAtMs === null) return 'later';
    const expired = await redispatch.expireSurplus({
      createdBefore: new Date(Math.min(fullAtMs, ofAgeMs)),
      keep: SANDBOX_KEPT_ORDERS,
      limit: SANDBOX_TIDY_ORDERS,
    });
    const isPart = expired === SANDBOX_TIDY_ORDERS;
    if (!isPart && ofAgeMs >= fullAtMs) fullAtMs = null;
    const arrived = matcher.waitingCount() - waiting + expired;
    // While orders arrive, they come first.
    return isPart && arrived <= 0 ? 'now' : 'later';
  };
}
