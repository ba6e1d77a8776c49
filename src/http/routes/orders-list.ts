import { ServiceError } from '../../domain/errors.ts';
import { LIST_STATEMENT_MS } from '../../limits.ts';
import type { Matcher } from '../../matcher/matcher.ts';
import type { ListedOrder, OrderFilter } from '../../store/orders/orders-list.ts';
import type { Store } from '../../store/store.ts';
import { json } from '../../transport/reply.ts';
import type { Route } from '../../transport/route.ts';
import type { Authenticator } from '../credentials.ts';
import { calendarTime, NO_SUCH_TIME, wrongNames } from '../input.ts';
import { encodeCursor, readCursor } from '../list-cursor.ts';
import type { ListTurns } from '../list-turns.ts';
import { timesOnWire, waitOnWire } from '../order-times.ts';
import { asAvailable } from '../outcomes.ts';
import type { StoreReader } from '../readers.ts';
import { DEFAULT_PAGE_SIZE, schemas } from '../schemas.ts';
import { countRead, type StoreRates } from '../store-rate.ts';
import { type Validated, valid, validate } from '../validate.ts';
import { validators } from '../validators.js';
import { listOrders } from './order-operations.ts';

/**
 * `GET /orders?status=&external_id=&created_after=&created_before=&updated_after=&retailer_id=&limit=&cursor=`:
 * the orders of a store, or of an organization's stores, the latest changed last.
 *
 * @param parts.now the database's clock in milliseconds
 */
export function ordersList(parts: {
  readonly stores: Pick<Authenticator<StoreReader>, 'authenticate'>;
  readonly reads: StoreRates;
  readonly turns: ListTurns;
  readonly store: Pick<Store, 'listStoreOrders' | 'listOrdersOfStores'>;
  readonly matcher: Pick<Matcher, 'whyWaiting' | 'driver'>;
  readonly now: () => number;
}): Route<StoreReader> {
  const { stores, reads, turns, store, matcher, now } = parts;
  return {
    method: 'get',
    pattern: '/orders',
    operation: listOrders,
    authenticate: stores.authenticate,
    async handle({ head, principal: reader, alwaysReplyWith }) {
      const filter = valid(readFilter(head.query));
      const retailerIds = storesAsked(reader, head.query.get('retailer_id'));
      await countRead(reads, reader, alwaysReplyWith);
      const list = () =>
        reader.kind === 'store'
          ? store.listStoreOrders(reader.id, filter)
          : store.listOrdersOfStores(retailerIds, filter);
      const { orders, next } = await asAvailable(turns.run(reader.id, () => inTime(list())));
      return json(200, { success: true, orders: orders.map(toWire), next_cursor: next && encodeCursor(next) });
    },
  };

  function toWire({ times, ...order }: ListedOrder): object {
    const { because, plan } = waitOnWire({ ...order, plan: times.plan }, matcher);
    const shown = { ...order, ...timesOnWire({ ...times, plan }, matcher, now()) };
    return because ? { ...shown, waiting_because: because } : shown;
  }
}

/**
 * The stores whose orders are asked for.
 *
 * @throws {ServiceError} `invalid_request` for one that is not the reader's, known or not
 */
function storesAsked({ retailerIds }: StoreReader, asked: string | null): readonly string[] {
  if (asked === null) return retailerIds;
  const id = asked.toLowerCase();
  if (retailerIds.includes(id)) return [id];
  const fields = [{ field: 'retailer_id', message: 'must be a store of yours' }];
  throw new ServiceError('invalid_request', 'Some parameters are not usable.', { fields });
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
  const sent = Object.fromEntries(query);
  const given = sent.external_id === undefined ? sent : { ...sent, external_id: sent.external_id.trim() };
  const checked = validate(validators.listOrders, given);
  const fields = [...('fields' in checked ? checked.fields : []), ...wrongNames(query, schemas.listOrders.properties)];
  const isGood = (name: string) => fields.every(({ field }) => field !== name);
  const cursor = readCursor(given.cursor, fields);
  const timeOf = (name: 'updated_after' | 'created_after' | 'created_before'): Date | null => {
    const text = given[name];
    const time = text === undefined ? null : calendarTime(text);
    if (text !== undefined && time === null && isGood(name)) fields.push({ field: name, message: NO_SUCH_TIME });
    return time;
  };
  const updatedAfter = timeOf('updated_after');
  const createdAfter = timeOf('created_after');
  const createdBefore = timeOf('created_before');
  if ('fields' in checked || fields.length > 0) return { fields };
  const { status = null, external_id: externalId = null, limit = DEFAULT_PAGE_SIZE } = checked.ok;
  const within = { status, externalId, createdAfter, createdBefore, updatedAfter };
  return { ok: { ...within, limit: Number(limit), cursor } };
}
