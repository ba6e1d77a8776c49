import { ServiceError } from '../../domain/errors.ts';
import { isId } from '../../domain/ids.ts';
import {
  DEFAULT_PAGE_SIZE,
  LIST_STATEMENT_MS,
  LIST_WAIT_MS,
  MAX_LISTS_PER_STORE,
  MAX_WAITING_LISTS_PER_STORE,
} from '../../limits.ts';
import type { Matcher } from '../../matcher/matcher.ts';
import type { ListedOrder, OrderCursor, OrderFilter } from '../../store/orders-list.ts';
import type { RetailerKey } from '../../store/retailers.ts';
import type { Store } from '../../store/store.ts';
import { json } from '../../transport/reply.ts';
import type { Route } from '../../transport/route.ts';
import type { Authenticator } from '../credentials.ts';
import { isCalendarTime, NO_SUCH_TIME, unknownNames } from '../input.ts';
import { createListTurns } from '../list-turns.ts';
import { asAvailable } from '../outcomes.ts';
import { schemas } from '../schemas.ts';
import { countRead, type StoreRates } from '../store-rate.ts';
import { type Validated, valid, validate } from '../validate.ts';
import { validators } from '../validators.js';
import { listOrders } from './order-operations.ts';

/** `GET /orders?status=&updated_after=&limit=&cursor=`: a store's orders, the latest changed last. */
export function ordersList(parts: {
  readonly stores: Pick<Authenticator<RetailerKey>, 'authenticate'>;
  readonly reads: StoreRates;
  readonly store: Pick<Store, 'listStoreOrders'>;
  readonly matcher: Pick<Matcher, 'whyWaiting'>;
}): Route<RetailerKey> {
  const { stores, reads, store, matcher } = parts;
  const turns = createListTurns({
    atOnce: MAX_LISTS_PER_STORE,
    waiting: MAX_WAITING_LISTS_PER_STORE,
    waitMs: LIST_WAIT_MS,
  });
  return {
    method: 'get',
    pattern: '/orders',
    operation: listOrders,
    authenticate: stores.authenticate,
    async handle({ head, principal: key, alwaysReplyWith }) {
      const filter = valid(readFilter(head.query));
      await countRead(reads, key, alwaysReplyWith);
      const read = () => inTime(store.listStoreOrders(key.retailerId, filter));
      const { orders, next } = await asAvailable(turns.run(key.retailerId, read));
      return json(200, { success: true, orders: orders.map(toWire), next_cursor: next && encodeCursor(next) });
    },
  };

  function toWire(order: ListedOrder): object {
    const waitReason = order.status === 'pending_dispatch' ? matcher.whyWaiting(order.id) : undefined;
    return waitReason ? { ...order, waiting_because: waitReason } : order;
  }
}

/** @throws {ServiceError} `unavailable`, saying so, where the list was not read in time */
async function inTime<Result>(read: Promise<Result>): Promise<Result> {
  try {
    return await read;
  } catch (cause) {
    if (!NOT_IN_TIME.has((cause as { code?: unknown }).code)) throw cause;
    throw new ServiceError('unavailable', TOO_SLOW, { cause });
  }
}

/** Ended by Postgres's time-out, or given up here while it waited for a connection or an answer. */
const NOT_IN_TIME: ReadonlySet<unknown> = new Set(['57014', 'DEADLINE_UNSENT', 'DEADLINE_SENT']);
const TOO_SLOW =
  `The list took longer than ${LIST_STATEMENT_MS / 1_000} s to read. ` +
  'Try again, with a later updated_after or a smaller limit.';

/** Names everything that is wrong at once. */
function readFilter(query: URLSearchParams): Validated<OrderFilter> {
  const given = Object.fromEntries(query);
  const checked = validate(validators.listOrders, given);
  const fields = [
    ...('fields' in checked ? checked.fields : []),
    ...unknownNames(query, schemas.listOrders.properties),
  ];
  const isGood = (name: string) => fields.every(({ field }) => field !== name);
  const cursor = given.cursor === undefined ? null : decodeCursor(given.cursor);
  if (isGood('cursor') && cursor === undefined) {
    fields.push({ field: 'cursor', message: 'must be a next_cursor of an earlier page' });
  }
  const updatedAfter = given.updated_after === undefined ? null : new Date(given.updated_after);
  if (isGood('updated_after') && updatedAfter && !isCalendarTime(updatedAfter)) {
    fields.push({ field: 'updated_after', message: NO_SUCH_TIME });
  }
  if ('fields' in checked || fields.length > 0) return { fields };
  const { status = null, limit = DEFAULT_PAGE_SIZE } = checked.ok;
  return { ok: { status, updatedAfter, limit: Number(limit), cursor: cursor ?? null } };
}

/** Where a page ended: microseconds, so that nothing between two pages is skipped, and the id. */
function encodeCursor({ updatedMicros, id }: OrderCursor): string {
  return Buffer.from(`${updatedMicros}:${id}`).toString('base64url');
}

function decodeCursor(text: string): OrderCursor | undefined {
  const [, updatedMicros, id] = /^(\d{1,16}):(.+)$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  return updatedMicros && id && isId(id) ? { updatedMicros, id } : undefined;
}
