import { isId } from '../../domain/ids.ts';
import type { OrderStatus } from '../../domain/order.ts';
import { DEFAULT_PAGE_SIZE } from '../../limits.ts';
import type { OrderCursor, OrderFilter, OrderPage } from '../../store/orders-list.ts';
import type { RetailerKey } from '../../store/retailers.ts';
import { findFieldErrors } from '../field-errors.ts';
import { isCalendarDay, valid } from '../input.ts';
import { asAvailable } from '../outcomes.ts';
import { json } from '../reply.ts';
import type { RequestHead, Route } from '../route.ts';
import { listOrders as fits } from '../validators.js';

/** `GET /orders?status=&updated_after=&limit=&cursor=`: a store's orders, the one that changed longest ago first. */
export function ordersList(deps: {
  readonly authenticate: (head: RequestHead) => Promise<RetailerKey>;
  readonly listOrders: (retailerId: string, filter: OrderFilter) => Promise<OrderPage>;
}): Route<RetailerKey> {
  return {
    method: 'get',
    pattern: '/orders',
    authenticate: deps.authenticate,
    async handle({ head, principal: key }) {
      const filter = valid(readFilter(head.query));
      const { orders, next } = await asAvailable(deps.listOrders(key.retailerId, filter));
      return json(200, { success: true, orders, next_cursor: next && encodeCursor(next) });
    },
  };
}

const KNOWN: ReadonlySet<string> = new Set(['status', 'updated_after', 'limit', 'cursor']);

function readFilter(query: URLSearchParams) {
  const given = Object.fromEntries(query);
  const fields = findFieldErrors(fits, given);
  for (const name of Object.keys(given)) {
    if (!KNOWN.has(name)) fields.push({ field: name.slice(0, 40), message: 'is not known here' });
  }
  const cursor = given.cursor === undefined ? null : decodeCursor(given.cursor);
  if (fields.length === 0 && cursor === undefined) {
    fields.push({ field: 'cursor', message: 'must be a next_cursor of an earlier page' });
  }
  const updatedAfter = given.updated_after === undefined ? null : new Date(given.updated_after);
  if (fields.length === 0 && updatedAfter && !isCalendarDay(updatedAfter)) {
    fields.push({ field: 'updated_after', message: 'is not a day of the calendar' });
  }
  if (fields.length > 0) return { fields };
  const status = (given.status as OrderStatus | undefined) ?? null;
  const limit = given.limit === undefined ? DEFAULT_PAGE_SIZE : Number(given.limit);
  return { ok: { status, updatedAfter, limit, cursor: cursor ?? null } };
}

/** Where a page ended: microseconds, so that nothing between two pages is skipped, and the id. */
function encodeCursor({ updatedMicros, id }: OrderCursor): string {
  return Buffer.from(`${updatedMicros}:${id}`).toString('base64url');
}

function decodeCursor(text: string): OrderCursor | undefined {
  const [, updatedMicros, id] = /^(\d{1,16}):(.+)$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  return updatedMicros && id && isId(id) ? { updatedMicros, id } : undefined;
}
