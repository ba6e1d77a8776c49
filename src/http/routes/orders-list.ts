import { isId } from '../../domain/ids.ts';
import type { OrderStatus } from '../../domain/order.ts';
import { DEFAULT_PAGE_SIZE } from '../../limits.ts';
import type { OrderCursor, OrderFilter, OrderPage } from '../../store/orders-list.ts';
import type { RetailerKey } from '../../store/retailers.ts';
import { json } from '../../transport/reply.ts';
import type { RequestHead, Route } from '../../transport/route.ts';
import { findFieldErrors } from '../field-errors.ts';
import { isCalendarTime, NO_SUCH_TIME, unknownNames, valid } from '../input.ts';
import { asAvailable } from '../outcomes.ts';
import { listOrdersSchema } from '../schemas.ts';
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

function readFilter(query: URLSearchParams) {
  const given = Object.fromEntries(query);
  const fields = [...findFieldErrors(fits, given), ...unknownNames(query, listOrdersSchema.properties)];
  const isGood = (name: string) => fields.every(({ field }) => field !== name);
  const cursor = given.cursor === undefined ? null : decodeCursor(given.cursor);
  if (isGood('cursor') && cursor === undefined) {
    fields.push({ field: 'cursor', message: 'must be a next_cursor of an earlier page' });
  }
  const updatedAfter = given.updated_after === undefined ? null : new Date(given.updated_after);
  if (isGood('updated_after') && updatedAfter && !isCalendarTime(updatedAfter)) {
    fields.push({ field: 'updated_after', message: NO_SUCH_TIME });
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
