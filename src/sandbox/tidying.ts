import type { PlaceRequest } from '../dispatch/place-request.ts';
import type { Redispatch } from '../dispatch/redispatch.ts';
import { below, MAX_WAITING_ORDERS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Clock } from '../postgres/clock.ts';
import { errorFields, type Logger } from '../telemetry.ts';

/**
 * Longest wait of an order where drivers are simulated, whatever its tier allows. A released one waits
 * longer.
 */
export const SANDBOX_MAX_WAIT_SECONDS = 600;
/** Waiting orders for each simulated driver: what they take in a minute. The sandbox expires a surplus. */
export const SANDBOX_ORDERS_PER_DRIVER = 2;
/** Age at which a waiting order counts as surplus then. Below SANDBOX_MAX_WAIT_SECONDS. */
export const SANDBOX_SURPLUS_AGE_MS = 10_000;
/**
 * Newest waiting orders that are no surplus, and as many that were asked for again: those of a person who
 * tries the sandbox after a load test.
 */
export const SANDBOX_KEPT_ORDERS = 4;
/** Most surplus orders that one statement expires, in about half a second. */
export const SANDBOX_TIDY_ORDERS = 2_000;
/**
 * Waiting orders above which one such statement follows the other although orders arrive. Far below
 * MAX_WAITING_ORDERS.
 */
const SANDBOX_CROWDED_ORDERS = 30_000;
/** Interval of these statements while orders arrive; afterwards one follows the other. */
const SANDBOX_TIDY_MS = 1_000;

below({ SANDBOX_CROWDED_ORDERS }, { MAX_WAITING_ORDERS });
below({ SANDBOX_SURPLUS_AGE_MS }, { 'SANDBOX_MAX_WAIT_SECONDS in ms': SANDBOX_MAX_WAIT_SECONDS * 1_000 });

type TidyingParts = {
  readonly matcher: Pick<Matcher, 'waitingCount'>;
  readonly redispatch: Pick<Redispatch, 'expireSurplus'>;
  /** Waiting orders above which there is a surplus. */
  readonly maxWaiting: number;
  readonly clock: Clock;
};

/**
 * Keeps the sandbox usable after a load test: its few drivers serve the oldest order first, so tens of
 * thousands of them would hold up the next one for hours.
 */
export function startTidying({ logger, ...parts }: TidyingParts & { readonly logger: Logger }) {
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
    /**
     * The operation with a look at its outcomes: an order that was asked for again is no surplus. After a load
     * test with one body the next equal request gets an order of the load whose reply was cut off.
     */
    heed:
      (place: PlaceRequest): PlaceRequest =>
      async (...args) => {
        const outcome = await place(...args);
        if (outcome.kind === 'replayed') keepIds = [...keepIds, outcome.order.id].slice(-SANDBOX_KEPT_ORDERS);
        return outcome;
      },
    /** Waits for the statement in flight. */
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
