import { startInTurns } from '../../dispatch/batch-turns.ts';
import { ERROR_CODES, ServiceError } from '../../domain/errors.ts';
import { identityOf } from '../../domain/idempotency.ts';
import { Tally } from '../../domain/tally.ts';
import { below, MAX_JSON_BYTES, RETRY_AFTER_SECONDS } from '../../limits.ts';
import type { RetailerKey } from '../../store/accounts/retailers.ts';
import { errorFields, type Logger } from '../../telemetry.ts';
import { json } from '../../transport/reply.ts';
import type { Reply, Route, RouteRequest } from '../../transport/route.ts';
import { type BatchedOrder, entriesOf, type GoodOrder, readEntries, within } from '../batch-input.ts';
import { parsed } from '../input.ts';
import type { Replays } from '../replays.ts';
import { createOrders } from './batch-operation.ts';
import { isShed, type OrderPlacing, type PlacingParts, placedBody, TOO_MANY } from './orders-create.ts';

/**
 * Largest body of a batch in bytes: 5 KiB for each order, of which most have under 1. A hundred times as much
 * as one order may have would take the event loop tens of milliseconds to parse. Above MAX_JSON_BYTES.
 */
export const MAX_BATCH_BYTES = 512 * 1024;
/**
 * Most batches of one store at work, judged before their bodies are taken. However slowly a store sends, it
 * holds a hundredth of MAX_BUFFERED_BODY_BYTES.
 */
export const MAX_BATCHES_PER_STORE = 2;
/** Orders of a batch that wait for a turn at once, so that a single order waits behind a few of each batch. */
const BATCH_ORDERS_IN_LINE = 25;

below({ MAX_JSON_BYTES }, { MAX_BATCH_BYTES });

/** What became of one order, as its own request would have been answered. */
type Result = { readonly status: number; readonly success: boolean; readonly replayed?: boolean };

const TOO_MANY_BATCHES = new ServiceError(
  'rate_limited',
  `Too many batches at once: your store may have ${MAX_BATCHES_PER_STORE} at work.`,
);
const INTERNAL = new ServiceError('internal', 'Something went wrong on our side. It is safe to try again.');

/**
 * `POST /orders/batch`: orders that are placed together, each with a key and a result of its own. One that
 * cannot be created stops no other.
 */
export function ordersBatch(parts: PlacingParts & { readonly logger: Pick<Logger, 'error'> }): Route<RetailerKey> {
  const { stores, rates, replays, dispatch, trackingUrl, isSandbox, logger } = parts;
  const { admission } = dispatch;
  const batches = new Tally();
  return {
    method: 'post',
    pattern: '/orders/batch',
    operation: createOrders(isSandbox),
    shed: (head) => (isShed(head, stores, admission) ? TOO_MANY : null),
    authenticate: stores.authenticate,
    admit({ principal: { retailerId }, whenOver }) {
      if (batches.of(retailerId) >= MAX_BATCHES_PER_STORE) throw TOO_MANY_BATCHES;
      batches.add(retailerId, 1);
      whenOver(() => batches.add(retailerId, -1));
      return null;
    },
    body: { contentTypes: ['application/json'], maxBytes: MAX_BATCH_BYTES, budget: 'small' },
    onDeadline: 'outcome_unknown',
    async handle(request) {
      const sinceMs = performance.now();
      // Before the body is parsed, as for a single order.
      const turn = admission.enter(request.principal.retailerId);
      if (!turn) throw TOO_MANY;
      await turn;
      return placeAll(request, sinceMs);
    },
  };

  async function placeAll(request: RouteRequest<RetailerKey>, sinceMs: number): Promise<Reply> {
    const { principal: key } = request;
    const entries = await countAll(readEntries(entriesOf(parsed(request.body), key.retailerId), isSandbox), request);
    // From the arrival of the batch, so that the waits of its orders do not add up.
    const caller = { sinceMs, signal: request.signal };
    const good = entries.flatMap((entry, index) => (entry.kind === 'good' ? [{ entry, index }] : []));
    const placed = await startInTurns(
      admission,
      key.retailerId,
      good,
      BATCH_ORDERS_IN_LINE,
      ({ entry, index }) => placeOne(entry, index, key, caller),
      () => failure(TOO_MANY),
    );
    const outcomes = placed.values();
    const results = entries.map((entry) =>
      entry.kind === 'bad' ? failure(entry.error) : (outcomes.next().value ?? failure(INTERNAL)),
    );
    const message = summaryOf(results);
    return json(200, { success: true, message, results: results.map((result, index) => ({ index, ...result })) });
  }

  /**
   * Counts each good order against the store's rate, in the order sent; those over it are bad. Where there are such,
   * replays are looked up and cost no rate, or a batch larger than the rate would never be whole.
   */
  async function countAll(
    entries: readonly BatchedOrder[],
    { principal: key, alwaysReplyWith }: RouteRequest<RetailerKey>,
  ): Promise<readonly BatchedOrder[]> {
    const refusals: (ServiceError | null)[] = [];
    for (const entry of entries) {
      const rate = entry.kind === 'good' ? await rates.count(key) : null;
      if (rate) alwaysReplyWith(rate.headers);
      refusals.push(rate?.refusal ?? null);
    }
    if (refusals.every((refusal) => refusal === null)) return entries;
    const good = entries.filter((entry) => entry.kind === 'good');
    return withReplays(entries, refusals, await replays(key, good));
  }

  /** Never rejects: whatever becomes of one order, the others have their results. */
  async function placeOne(
    entry: GoodOrder,
    index: number,
    key: RetailerKey,
    caller: Parameters<OrderPlacing['placeRequest']>[3],
  ): Promise<Result> {
    try {
      const outcome =
        entry.replay ?? (await dispatch.placeRequest(entry.order, key, identityOf(entry.order, entry.key), caller));
      const { body, headers } = placedBody(outcome, trackingUrl(), entry.warnings);
      return { status: 201, ...body, ...(headers['Idempotent-Replayed'] ? { replayed: true } : {}) };
    } catch (error) {
      if (error instanceof ServiceError) return failure(error, index);
      logger.error({ err: errorFields(error) }, 'an order of a batch failed');
      return failure(INTERNAL);
    }
  }
}

/** Replays leave their places in the rate to the first of those that it refused; the others of them are bad. */
function withReplays(
  entries: readonly BatchedOrder[],
  refusals: readonly (ServiceError | null)[],
  replays: Awaited<ReturnType<Replays>>,
): BatchedOrder[] {
  const replayOf = (entry: BatchedOrder) => (entry.kind === 'good' ? replays.get(entry.key) : undefined);
  let places = entries.filter((entry, index) => replayOf(entry) && !refusals[index]).length;
  return entries.map((entry, index): BatchedOrder => {
    const [replay, refusal] = [replayOf(entry), refusals[index]];
    if (replay && entry.kind === 'good') return { ...entry, replay };
    return refusal && places-- <= 0 ? { kind: 'bad', error: refusal } : entry;
  });
}

function summaryOf(results: readonly Result[]): string {
  const replayed = results.filter((result) => result.replayed).length;
  const created = results.filter(({ success }) => success).length - replayed;
  const before = replayed > 0 ? `, and ${replayed} had been created before` : '';
  return `${created} of ${results.length} orders were created${before}; each has its result.`;
}

/** An error as the body of its own reply would say it; `index` where its fields are not named by the batch yet. */
function failure(error: ServiceError, index?: number): Result {
  const { status, retryable } = ERROR_CODES[error.code];
  const fields = index === undefined ? error.fields : within(index, error.fields);
  const wait =
    status === 429 || status === 503 ? { retry_after_seconds: error.retryAfterSeconds ?? RETRY_AFTER_SECONDS } : {};
  const body = { success: false, message: error.message, error: { code: error.code, retryable, fields } };
  return { status, ...body, ...wait };
}
