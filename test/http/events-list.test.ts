import { expect, test } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { EventCursors } from '../../src/events/event-cursors.ts';
import { EventWaits } from '../../src/events/event-waits.ts';
import { eventsRoute } from '../../src/events/events-list.ts';
import { unauthorized } from '../../src/http/credentials.ts';
import { MAX_EVENT_WAIT_SECONDS } from '../../src/http/field-errors.ts';
import { createListTurns } from '../../src/http/list-turns.ts';
import { type StoreReader, storeReader } from '../../src/http/readers.ts';
import { createReadRates } from '../../src/http/store-rate.ts';
import type { EventPage } from '../../src/store/events/events.ts';
import { anyone, type Route } from '../../src/transport/route.ts';
import { startServer } from './support.ts';

const EMPTY: EventPage = { events: [], nextCursor: '7', isUnknown: false, lostBefore: null };
const DATA = {
  order_id: newId(),
  retailer_id: newId(),
  sequence: 3,
  status: 'driver_assigned',
  payment_status: 'paid',
  driver_id: newId(),
  deliver_by: '2026-11-22T16:44:30.674Z',
  estimated_delivery: null,
};
const EVENT = { cursor: '8', type: 'order.paid', timestamp: '2026-11-22T13:44:30.674Z', data: DATA } as const;

/** Shows the numbers as they are. */
class PlainCursors extends EventCursors {
  override shown({ events, nextCursor }: Pick<EventPage, 'events' | 'nextCursor'>) {
    return { events: [...events], next_cursor: nextCursor };
  }
}

/** Answers nothing before its deadline. */
const hanging: Route<null> = {
  method: 'get',
  pattern: '/hanging',
  authenticate: anyone,
  handle: () => new Promise(() => undefined),
};

/** The route alone, and what it asked the tables for. */
async function startEvents(pages: Partial<EventPage>[] = [], rate = 0, requestDeadlineMs = 15_000) {
  const retailerId = newId();
  const access = { authenticate: async (): Promise<StoreReader> => storeReader({ retailerId }) };
  const asked: unknown[] = [];
  const waits = new EventWaits();
  const read = async (...query: unknown[]) => {
    asked.push(query);
    return { ...EMPTY, ...pages.shift() };
  };
  const route = eventsRoute({
    stores: { authenticate: () => access.authenticate() },
    reads: createReadRates(rate),
    turns: createListTurns(),
    store: { readEvents: read, readEventsOfStores: read },
    waits,
    cursors: new PlainCursors(Buffer.alloc(32)),
  });
  const { url, server } = await startServer({
    routes: [route, hanging],
    stopping: () => waits.close(),
    limits: { requestDeadlineMs },
  });
  const ask = async (query: string) => {
    const response = await fetch(`${url}/events?${query}`);
    const body = (await response.json()) as {
      error?: { code: string; fields?: { field: string; message: string }[] };
    };
    return { status: response.status, body, fields: body.error?.fields?.map(({ field }) => field) };
  };
  return { retailerId, access, asked, ask, waits, server, url };
}

test('gives the events of a page, and where the next one begins', async () => {
  const { ask, asked, retailerId } = await startEvents([{ events: [EVENT], nextCursor: '8' }]);
  expect(await ask('after=7&limit=1')).toMatchObject({
    status: 200,
    body: { success: true, events: [EVENT], next_cursor: '8' },
  });
  expect(asked).toEqual([[retailerId, { number: '7', isPlain: true }, 1]]);
});

test('begins with what is kept without a cursor, and with 0', async () => {
  const { ask, asked, retailerId } = await startEvents();
  expect((await ask('')).body).toEqual({ success: true, events: [], next_cursor: '7' });
  await ask('after=0&wait=0');
  expect(asked).toEqual([
    [retailerId, null, 50],
    [retailerId, null, 50],
  ]);
});

test('says where events behind a cursor are lost', async () => {
  const { ask } = await startEvents([{ lostBefore: new Date('2026-01-01T00:00:00Z') }]);
  expect((await ask('after=1')).body).toMatchObject({ events_lost_before: '2026-01-01T00:00:00.000Z' });
});

test.each([
  ['a cursor that is none', 'after=x', 'after'],
  ['a cursor below all', 'after=-1', 'after'],
  ['a text of the length of a cursor', 'after=AAAAAAAAAAAAAAAAAAAAAA', 'after'],
  ['a cursor beyond 64 bits', 'after=9999999999999999999', 'after'],
  ['no event a page', 'limit=0', 'limit'],
  ['too many events a page', 'limit=101', 'limit'],
  ['a longer wait', `wait=${MAX_EVENT_WAIT_SECONDS + 1}`, 'wait'],
  ['a wait of half a second', 'wait=0.5', 'wait'],
  ['a parameter by another name', 'cursor=1', 'cursor'],
])('refuses %s by its name, and asks the tables nothing', async (_what, query, field) => {
  const { ask, asked } = await startEvents();
  expect(await ask(query)).toMatchObject({ status: 400, fields: [field] });
  expect(asked).toEqual([]);
});

test('takes the longest wait', async () => {
  const { ask } = await startEvents([{ events: [EVENT] }]);
  expect((await ask(`wait=${MAX_EVENT_WAIT_SECONDS}`)).status).toBe(200);
});

test('refuses a cursor beyond the last event at once, also where it would wait', async () => {
  const { ask } = await startEvents([{ isUnknown: true }]);
  expect(await ask('after=999&wait=20')).toMatchObject({ status: 400, fields: ['after'] });
});

test('waits for an event, beyond the deadline of other requests', async () => {
  const { ask, waits, retailerId, asked, url } = await startEvents([{}, { events: [EVENT] }], 0, 1);
  const asking = ask('after=7&wait=20');
  await expect.poll(() => asked.length).toBe(1);
  // A later request is past its deadline.
  expect((await fetch(`${url}/hanging`)).status).toBe(503);
  waits.wake([retailerId]);
  expect(await asking).toMatchObject({ status: 200, body: { events: [EVENT] } });
});

test('tells who waits no event of a store that their key reads no more', async () => {
  const { ask, access, waits, retailerId, asked } = await startEvents([{}, { events: [EVENT] }]);
  const asking = ask('after=7&wait=20');
  await expect.poll(() => asked.length).toBe(1);
  access.authenticate = async () => {
    throw unauthorized();
  };
  waits.wake([retailerId]);
  expect(await asking).toMatchObject({ status: 401 });
  expect(asked).toHaveLength(1);
});

test('a chain that waits is told of the stores that it has by then', async () => {
  const { ask, access, waits, retailerId, asked } = await startEvents([{}, { events: [EVENT] }]);
  const asking = ask('after=7&wait=20');
  await expect.poll(() => asked.length).toBe(1);
  const [left, id] = [newId(), newId()];
  access.authenticate = async () => ({ kind: 'organization', id, organizationId: id, retailerIds: [left] });
  waits.wake([retailerId]);
  expect(await asking).toMatchObject({ status: 200 });
  expect(asked[1]).toEqual([[left], { number: '7', isPlain: true }, 50]);
});

test('a stop answers what waits at once', async () => {
  const { ask, waits, server } = await startEvents();
  const asking = ask('wait=20');
  await expect.poll(() => waits.count).toBe(1);
  server.stopAccepting();
  expect(await asking).toMatchObject({ status: 200, body: { events: [], next_cursor: '7' } });
  expect(await server.drain(5_000)).toBe(true);
});

test('counts against the rate of reads', async () => {
  const { ask } = await startEvents([], 1);
  expect((await ask('')).status).toBe(200);
  await expect.poll(async () => (await ask('')).status).toBe(429);
});
