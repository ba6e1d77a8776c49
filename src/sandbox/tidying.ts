import type { PlaceRequest } from '../dispatch/place-request.ts';
import type { Redispatch } from '../dispatch/redispatch.ts';
import {
  SANDBOX_CROWDED_ORDERS,
  SANDBOX_KEPT_ORDERS,
  SANDBOX_SURPLUS_AGE_MS,
  SANDBOX_TIDY_MS,
  SANDBOX_TIDY_ORDERS,
} from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Clock } from '../postgres/clock.ts';
import { errorFields, type Logger } from '../telemetry.ts';

type TidyingParts = {
  readonly matcher: Pick<Matcher, 'waitingCount'>;
  readonly redispatch: Pick<Redispatch, 'expireSurplus'>;
  /** Waiting orders above which there is a surplus. */
  readonly maxWaiting: number;
  readonly clock: Clock;
};

export type Tidying = {
  /**
   * The operation with a look at its outcomes: an order that was asked for again is no surplus. After a load
   * test with one body the next equal request gets an order of the load whose reply was cut off.
   */
  heed(place: PlaceRequest): PlaceRequest;
  /** Waits for the statement in flight. */
  close(): Promise<void>;
};

/**
 * Keeps the sandbox usable after a load test: its few drivers serve the oldest order first, so tens of
 * thousands of them would hold up the next one for hours.
 */
export function startTidying({ logger, ...parts }: TidyingParts & { readonly logger: Logger }): Tidying {
  /** The orders that were asked for again last. */
  let keepIds: readonly string[] = [];
  const tidy = createTidying(parts, () => keepIds);
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
    heed:
      (place) =>
      async (...args) => {
        const outcome = await place(...args);
        if (outcome.kind === 'replayed') keepIds = [...keepIds, outcome.order.id].slice(-SANDBOX_KEPT_ORDERS);
        return outcome;
      },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/**
 * Each call expires a part of the surplus, and returns when to call again. Once more orders wait than
 * `maxWaiting`, the surplus is everything that waited by then, not just what is above that number: those
 * would still hold up the next one for minutes.
 */
export function createTidying(
  { matcher, redispatch, maxWaiting, clock }: TidyingParts,
  keepIds: () => readonly string[],
): () => Promise<'now' | 'later'> {
  /** When too many orders waited last; null while there is no surplus. */
  let fullAtMs: number | null = null;

  return async function tidy() {
    const waiting = matcher.waitingCount();
    const ofAgeMs = clock.now() - SANDBOX_SURPLUS_AGE_MS;
    if (waiting > maxWaiting) fullAtMs = clock.now();
    if (fullAtMs === null) return 'later';
    const expired = await redispatch.expireSurplus({
      createdBefore: new Date(Math.min(fullAtMs, ofAgeMs)),
      keep: SANDBOX_KEPT_ORDERS,
      keepIds: keepIds(),
      limit: SANDBOX_TIDY_ORDERS,
    });
    const isPart = expired === SANDBOX_TIDY_ORDERS;
    if (!isPart && ofAgeMs >= fullAtMs) fullAtMs = null;
    const arrived = matcher.waitingCount() - waiting + expired;
    // While orders arrive, they come first, as long as there is room for them.
    return isPart && (arrived <= 0 || waiting > SANDBOX_CROWDED_ORDERS) ? 'now' : 'later';
  };
}
