import { expect, test } from 'vitest';
import { newId, newTrackingToken } from '../../src/domain/ids.ts';
import { MAX_FIELD_ERRORS } from '../../src/http/field-errors.ts';
import { createListTurns } from '../../src/http/list-turns.ts';
import { storeReader } from '../../src/http/readers.ts';
import { ordersList } from '../../src/http/routes/orders-list.ts';
import { createReadRates } from '../../src/http/store-rate.ts';
import type { ListedOrder, OrderFilter } from '../../src/store/orders/orders-list.ts';
import type { Cursor } from '../../src/store/pages.ts';
import { letIn, startServer } from './support.ts';

const HELD = newId();

/** The route alone, and what it asked the tables for. */
async function startList(next: Cursor | null = null, orders: readonly ListedOrder[] = []) {
  const asked: OrderFilter[] = [];
  const list = async (filter: OrderFilter) => {
    asked.push(filter);
    return { orders, next };
  };
  const route = ordersList({
    stores: letIn(storeReader({ retailerId: newId() })),
    reads: createReadRates(0),
    turns: createListTurns(),
    store: {
      listStoreOrders: (_retailerId, filter) => list(filter),
      listOrdersOfStores: (_retailerIds, filter) => list(filter),
    },
    matcher: {
      whyWaiting: (orderId) => (orderId === HELD ? 'payment_required' : 'all_drivers_busy'),
      driver: () => undefined,
    },
    now: () => 0,
  });
  const { url } = await startServer({ routes: [route] });
  return {
    asked,
    async ask(query: string) {
      const response = await fetch(`${url}/orders?${query}`);
      const body = (await response.json()) as {
        next_cursor?: string | null;
        orders?: object[];
        error?: { fields: { field: string; message: string }[] };
      };
      return {
        status: response.status,
        fields: body.error?.fields ?? [],
        nextCursor: body.next_cursor,
        orders: body.orders,
      };
    },
  };
}

const cursorOf = (text: string) => Buffer.from(text).toString('base64url');
const ID = newId();

test.each([
  ['a year before 1970', 'updated_after=0000-01-01T00:00:00Z', 'updated_after'],
  ['the last moment before 1970', 'updated_after=1969-12-31T23:59:59.999Z', 'updated_after'],
  ['a year that its offset makes 10000', 'updated_after=9999-12-31T23:59:59-12:00', 'updated_after'],
  ['a day that does not exist', 'created_before=2026-02-30T00:00:00Z', 'created_before'],
  ['a month that does not exist', 'updated_after=2026-13-01T00:00:00Z', 'updated_after'],
  ['a cursor with what is no id', `cursor=${cursorOf(`1:${'-'.repeat(36)}`)}`, 'cursor'],
  ['a cursor with more than an id', `cursor=${cursorOf(`1:${ID}0`)}`, 'cursor'],
  ['a cursor beyond every time', `cursor=${cursorOf(`${'9'.repeat(18)}:${ID}`)}`, 'cursor'],
  ['a cursor that says nothing', 'cursor=hello', 'cursor'],
  ['a filter by another name', 'updated_since=2026-01-01T00:00:00Z', 'updated_since'],
  ['a filter by the name of what every object has', 'constructor=1', 'constructor'],
])('refuses %s by its field, and asks the tables nothing', async (_what, query, field) => {
  const { ask, asked } = await startList();
  const refused = await ask(query);
  expect([refused.status, refused.fields.map((each) => each.field)]).toEqual([400, [field]]);
  expect(asked).toEqual([]);
});

test('refuses a filter that is there twice, since only one of them would count', async () => {
  const { ask } = await startList();
  const { fields } = await ask('status=delivered&limit=1&status=cancelled');
  expect(fields).toEqual([{ field: 'status', message: 'must be there once' }]);
});

test('says of an unknown filter that it is not known', async () => {
  const { ask } = await startList();
  expect((await ask('updated_since=x')).fields).toEqual([{ field: 'updated_since', message: 'is not known here' }]);
});

test('names everything that is wrong at once', async () => {
  const { ask } = await startList();
  const { fields } = await ask('limit=0&cursor=hello&updated_after=0000-01-01T00:00:00Z&since=1&since=2');
  expect(fields.map(({ field }) => field).sort()).toEqual(['cursor', 'limit', 'since', 'updated_after']);
});

test('names only so many unknown filters', async () => {
  const { ask } = await startList();
  const { status, fields } = await ask(Array.from({ length: 100 }, (_, index) => `x${index}=`).join('&'));
  expect([status, fields.length]).toEqual([400, MAX_FIELD_ERRORS]);
});

test.each(['1970-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z', '2026-01-01T00:00:00-05:00'])(
  'takes the time %s',
  async (time) => {
    const { ask, asked } = await startList();
    expect((await ask(`updated_after=${encodeURIComponent(time)}`)).status).toBe(200);
    expect(asked[0]?.updatedAfter).toEqual(new Date(time));
  },
);

test('takes back the cursor that it gave', async () => {
  const next = { micros: '1700000000123456', id: ID };
  const { ask, asked } = await startList(next);
  const { nextCursor } = await ask('limit=1');
  expect((await ask(`cursor=${nextCursor}`)).status).toBe(200);
  expect(asked[1]?.cursor).toEqual(next);
});

test('a waiting order says why it waits, and any other says nothing', async () => {
  const row = {
    external_id: null,
    delivery_tier: 'standard',
    delivery_fee: 799,
    payment_status: 'not_charged',
    sms_status: 'none',
    tracking_token: newTrackingToken(),
    driver_id: null,
    reason_code: null,
    created_at: new Date().toISOString(),
    updated_at: new Date().toISOString(),
  };
  const deliverBy = new Date();
  const unscheduled = { readyAt: null, deliverAfter: null, deliverBy, dispatchFrom: null };
  const times = {
    ...unscheduled,
    driverId: null,
    assignedAt: null,
    pickup: { lat: 0, lng: 0 },
    dropoff: null,
    onRoute: null,
    plan: null,
  };
  const orders = [
    { ...row, id: HELD, status: 'pending_dispatch' },
    { ...row, id: newId(), status: 'driver_assigned' },
  ] as const;
  const { ask } = await startList(
    null,
    orders.map((order) => ({ ...order, times: { ...times, status: order.status } })),
  );
  const shown = { deliver_by: deliverBy.toISOString(), estimated_delivery: null };
  expect((await ask('')).orders).toEqual([
    { ...orders[0], ...shown, waiting_because: 'payment_required' },
    { ...orders[1], ...shown },
  ]);
});
