import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PlaceOrderOutcome } from '../../src/dispatch/place-order.ts';
import { createPlaceUnkeyed } from '../../src/dispatch/place-unkeyed.ts';
import { createRequestDedup } from '../../src/dispatch/request-dedup.ts';
import type { CreatedOrder, PlaceOrder } from '../../src/domain/order.ts';
import type { RetailerKey } from '../../src/store/retailers.ts';
import type { Store } from '../../src/store/store.ts';
import { createLogger } from '../../src/telemetry.ts';
import { AbortNotice } from '../../src/transport/signal.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { addStoreRow, draftOrder, orderRow, type TestStore } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';

let database: FreshDatabase;
let store: TestStore;
let processes = 0;
let fingerprints = 0;
const logger = createLogger('silent');
const REQUEST = {} as PlaceOrder;
const KEY = {} as RetailerKey;

beforeAll(async () => {
  database = await freshDatabase({ max: 10 });
  store = await addStoreRow(database.sql);
});
afterAll(() => database.drop());

/** A process on the real tables. A test can hold a commit back, and replace its outcome. */
function world(silentMs = 60_000) {
  const { sql } = database;
  const real = storeOf(sql, `process ${++processes}`);
  const tables = { away: false };
  const sinceMs: number[] = [];
  const reads: string[] = [];
  const planned: { before?: Promise<unknown>; instead?: PlaceOrderOutcome; beforeAdopting?: () => Promise<unknown> } =
    {};
  const watched: Store = {
    ...real,
    recordUndelivered: (fingerprint, orderId) =>
      tables.away ? Promise.reject(new Error('away')) : real.recordUndelivered(fingerprint, orderId),
    findEarlierRequest(fingerprint) {
      reads.push(fingerprint);
      return real.findEarlierRequest(fingerprint);
    },
    async adoptUndelivered(fingerprint, orderId, from) {
      await planned.beforeAdopting?.();
      return real.adoptUndelivered(fingerprint, orderId, from);
    },
  };
  const dedup = createRequestDedup(watched, { releaseMs: 1, retryMs: 5, keptMs: 10_000, maxWriting: 100 }, logger);
  const place = createPlaceUnkeyed(
    async (_request, _key, idempotency, caller, id): Promise<PlaceOrderOutcome> => {
      if (id === undefined) throw new Error('the order was given no id');
      sinceMs.push(caller.sinceMs);
      const { before, instead } = planned;
      const draft = { ...(await draftOrder(sql, store)), id, idempotency };
      await before;
      const made = (await real.insertOrders([draft])).get(id);
      if (instead) return instead;
      return made ? { kind: 'created', order: (await real.findPlacedById(id)) as CreatedOrder } : { kind: 'repeated' };
    },
    dedup,
    watched,
    { pollMs: 5, silentMs, keptMs: 600_000 },
    logger,
  );
  return {
    planned,
    tables,
    sinceMs,
    reads,
    close: () => dedup.close(),
    send(fingerprint: string) {
      const client = new AbortNotice();
      const outcome = place(REQUEST, KEY, { key: null, fingerprint }, { sinceMs: 0, signal: client });
      return { client, outcome, id: async () => orderOf(await outcome) };
    },
  };
}
const orderOf = (outcome: { kind: string; order?: CreatedOrder }): string => {
  expect(['created', 'replayed']).toContain(outcome.kind);
  return outcome.order?.id ?? '';
};
const newFingerprint = (): string => `fingerprint ${++fingerprints}`;
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** A process that created an order whose reply was lost, which it cannot record. */
async function unrecordedReply() {
  const a = world();
  const fingerprint = newFingerprint();
  const first = a.send(fingerprint);
  const orderId = await first.id();
  a.tables.away = true;
  first.client.abort();
  return { a, fingerprint, orderId };
}

test('two equal requests that were both answered are two orders, in one process and in two', async () => {
  const [a, b] = [world(), world()];
  const fingerprint = newFingerprint();
  const ids: string[] = [];
  for (const process of [a, a, b, a]) {
    const { client, id } = process.send(fingerprint);
    ids.push(await id());
    client.answered();
  }
  expect(new Set(ids).size).toBe(4);
});

test('concurrent equal requests of one process do not wait for each other', async () => {
  const a = world();
  const fingerprint = newFingerprint();
  const all = [a.send(fingerprint), a.send(fingerprint), a.send(fingerprint)];
  expect(new Set(await Promise.all(all.map(({ id }) => id()))).size).toBe(3);
});

test.each(['the same process', 'another process'])(
  'a repeated request at %s gets the order of a lost reply, until one reply is sent',
  async (where) => {
    const a = world();
    const b = where === 'another process' ? world() : a;
    const fingerprint = newFingerprint();
    const first = a.send(fingerprint);
    const orderId = await first.id();
    const second = b.send(fingerprint);
    // At the same process a request that ends before the first reply is lost creates an order; elsewhere it
    // waits.
    if (a === b) expect(await second.id()).not.toBe(orderId);
    first.client.abort();
    const again = a === b ? a.send(fingerprint) : second;
    expect(await again.outcome).toMatchObject({ kind: 'replayed', order: { id: orderId } });
    again.client.abort();
    const third = a.send(fingerprint);
    expect(await third.id()).toBe(orderId);
    third.client.answered();
    const fourth = b.send(fingerprint);
    expect(await fourth.outcome).toMatchObject({ kind: 'created' });
    expect(await fourth.id()).not.toBe(orderId);
  },
);

test('a repeated request whose client disconnects while it claims the order leaves it to the next one', async () => {
  const a = world();
  const fingerprint = newFingerprint();
  const first = a.send(fingerprint);
  const orderId = await first.id();
  first.client.abort();
  const { open, opened } = gate();
  const adopting = gate();
  a.planned.beforeAdopting = () => {
    adopting.open();
    return opened;
  };
  const second = a.send(fingerprint);
  await adopting.opened;
  second.client.abort();
  const third = a.send(fingerprint);
  open();
  expect(await third.id()).toBe(orderId);
});

test('a request whose client disconnects before its commit creates no order, and a repeated one does', async () => {
  const a = world();
  const fingerprint = newFingerprint();
  const { open, opened } = gate();
  a.planned.before = opened;
  const first = a.send(fingerprint);
  await new Promise(setImmediate);
  first.client.abort();
  a.planned.before = undefined as never;
  const second = a.send(fingerprint);
  const made = await second.id();
  open();
  // A request that was abandoned before its commit creates no order any more.
  expect(await first.outcome).toEqual({ kind: 'unavailable' });
  const [row] = await database.sql`
    select count(*)::int as n from orders o join unheard_requests u on o.id = u.order_id
    where u.fingerprint = ${fingerprint}`;
  expect(row?.n).toBe(1);
  expect((await orderRow(database.sql, made)).status).toBe('pending_dispatch');
});

test('a repeated request whose client disconnects does not wait until the first lost reply is recorded', async () => {
  const { a, fingerprint, orderId } = await unrecordedReply();
  const second = a.send(fingerprint);
  await new Promise(setImmediate);
  second.client.abort();
  expect(await second.outcome).toEqual({ kind: 'unavailable' });
  a.tables.away = false;
  expect(await a.send(fingerprint).id()).toBe(orderId);
});

test('the wait for an equal request at another process does not count as a wait for the commit', async () => {
  const [a, b] = [world(), world()];
  const fingerprint = newFingerprint();
  const first = a.send(fingerprint);
  await first.id();
  const second = b.send(fingerprint);
  await expect.poll(() => b.reads, { timeout: 10_000, interval: 5 }).toContain(fingerprint);
  first.client.answered();
  expect(await second.outcome).toMatchObject({ kind: 'created' });
  const [whenItCame, ...later] = b.sinceMs;
  expect(whenItCame).toBe(0);
  expect(later.at(-1)).toBeGreaterThan(0);
});

test('after an unknown outcome a repeated request gets the order if it was created', async () => {
  const [a, b] = [world(), world()];
  const fingerprint = newFingerprint();
  a.planned.instead = { kind: 'outcome_unknown' };
  const first = a.send(fingerprint);
  expect(await first.outcome).toEqual({ kind: 'outcome_unknown' });
  first.client.answered();
  expect(await b.send(fingerprint).outcome).toMatchObject({ kind: 'replayed' });
});

test('after an unknown outcome a repeated request creates a missing order, and a late commit does not', async () => {
  const { sql } = database;
  const [a, b] = [world(), world()];
  const fingerprint = newFingerprint();
  const late = await draftOrder(sql, store, { idempotency: { key: null, fingerprint } });
  await storeOf(sql, 'gone').recordUndelivered(fingerprint, late.id);
  const second = b.send(fingerprint);
  expect(await second.outcome).toMatchObject({ kind: 'created' });
  second.client.answered();
  await a.close();
  await b.close();
  expect((await storeOf(sql, 'gone').insertOrders([late])).get(late.id)).toBeFalsy();
});

test('a repeated request gets the order of a process that died', async () => {
  const [a, b] = [world(), world(0)];
  const fingerprint = newFingerprint();
  const orderId = await a.send(fingerprint).id();
  expect(await b.send(fingerprint).outcome).toMatchObject({ kind: 'replayed', order: { id: orderId } });
});

test('a lost reply that cannot be recorded is tried again, and no equal request starts meanwhile', async () => {
  const { a, fingerprint, orderId } = await unrecordedReply();
  let isOver = false;
  const second = a.send(fingerprint);
  void second.outcome.then(() => {
    isOver = true;
  });
  await storeOf(database.sql).findEarlierRequest(fingerprint);
  expect(isOver).toBe(false);
  a.tables.away = false;
  expect(await second.id()).toBe(orderId);
});

test('nothing is kept of answered requests', async () => {
  const a = world();
  const all = Array.from({ length: 20 }, () => a.send(newFingerprint()));
  for (const { outcome, client } of all) void outcome.then(() => client.answered());
  await Promise.all(all.map(({ outcome }) => outcome));
  await a.close();
  expect(await database.sql`select from unheard_requests where origin = ${`process ${processes}`}`).toHaveLength(0);
});
