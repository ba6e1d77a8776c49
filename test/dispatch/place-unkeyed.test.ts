import { expect, test } from 'vitest';
import type { PlaceOrderOutcome } from '../../src/dispatch/place-order.ts';
import { createPlaceUnkeyed } from '../../src/dispatch/place-unkeyed.ts';
import { createRequestDedup } from '../../src/dispatch/request-dedup.ts';
import { newId } from '../../src/domain/ids.ts';
import type { CreatedOrder, PlaceOrder } from '../../src/domain/order.ts';
import type { RetailerKey } from '../../src/store/accounts/retailers.ts';
import type { Store } from '../../src/store/store.ts';
import { createLogger } from '../../src/telemetry.ts';
import { AbortNotice } from '../../src/transport/signal.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addStoreRow, draftOrder, orderRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { gate } from '../http/support.ts';
import { openTransaction, untilBlocked } from '../store/transaction.ts';

const database = await useFreshDatabase({ max: 10 });
const { sql } = database;
let processes = 0;
let fingerprints = 0;
const logger = createLogger('silent');
const REQUEST = {} as PlaceOrder;
const KEY = {} as RetailerKey;
const store = await addStoreRow(sql);

/** A process on the real tables. A test can hold a commit back, replace its outcome, and break statements. */
function world() {
  const real = storeOf(sql, `process ${++processes}`);
  const tables = { away: false };
  const reads = { away: false };
  const sinceMs: number[] = [];
  const writes = { records: 0, takes: 0 };
  const planned: {
    /** While the order waits for its commit; then it is not sent if the client has left. */
    queued?: Promise<unknown> | undefined;
    /** After the order was sent. */
    before?: Promise<unknown> | undefined;
    instead?: PlaceOrderOutcome | undefined;
    beforeTaking?: () => Promise<unknown>;
    afterTaking?: () => Promise<unknown>;
  } = {};
  const watched: Store = {
    ...real,
    recordLostReplies(replies) {
      writes.records++;
      return tables.away ? Promise.reject(new Error('away')) : real.recordLostReplies(replies);
    },
    findLostReplies: (fingerprint, most) =>
      reads.away ? Promise.reject(new Error('away')) : real.findLostReplies(fingerprint, most),
    async takeLostReplies(replies) {
      writes.takes++;
      await planned.beforeTaking?.();
      const taken = await real.takeLostReplies(replies);
      await planned.afterTaking?.();
      return taken;
    },
  };
  const dedup = createRequestDedup(watched, { retryMs: 5, keptMs: 10_000, maxWriting: 100 }, logger);
  const place = createPlaceUnkeyed(
    async (_request, _key, idempotency, caller, id): Promise<PlaceOrderOutcome> => {
      if (id === undefined) throw new Error('the order was given no id');
      sinceMs.push(caller.sinceMs);
      const { before, instead, queued } = planned;
      await queued;
      if (caller.signal.aborted) return { kind: 'unavailable' };
      caller.onSent?.();
      const draft = { ...(await draftOrder(sql, store)), id, idempotency };
      await before;
      if (instead && instead.kind !== 'outcome_unknown') return instead;
      const inserted = await real.insertOrders([draft]);
      if (instead) return instead;
      if (!inserted.get(id)) return { kind: inserted.has(id) ? 'repeated' : 'internal' };
      return { kind: 'created', order: await orderWith(id) };
    },
    dedup,
    watched,
    logger,
  );
  return {
    planned,
    tables,
    sinceMs,
    writes,
    breakReads() {
      reads.away = true;
    },
    close: () => dedup.close(),
    send(fingerprint: string) {
      const client = new AbortNotice();
      const outcome = place(REQUEST, KEY, { key: null, fingerprint }, { sinceMs: 0, signal: client });
      return { client, outcome, id: async () => orderOf(await outcome) };
    },
  };
}
const orderWith = async (id: string) => (await storeOf(sql).findPlacedByIds([id])).get(id) as CreatedOrder;
const orderOf = (outcome: { kind: string; order?: CreatedOrder }): string => {
  expect(['created', 'replayed']).toContain(outcome.kind);
  return outcome.order?.id ?? '';
};
const newFingerprint = (): string => `fingerprint ${++fingerprints}`;
const recorded = (fingerprint: string) => storeOf(sql).findLostReplies(fingerprint, 1_000);
const untilRecorded = (fingerprint: string, count = 1) =>
  expect.poll(async () => (await recorded(fingerprint)).length, { interval: 5 }).toBe(count);
/** A process that created an order whose reply was lost, and the order. */
async function lostReply(tables: { away: boolean } = { away: false }) {
  const a = world();
  const fingerprint = newFingerprint();
  const first = a.send(fingerprint);
  const orderId = await first.id();
  a.tables.away = tables.away;
  first.client.abort();
  return { a, fingerprint, orderId };
}

test('concurrent equal requests do not wait for each other, at one process and at two', async () => {
  const [a, b] = [world(), world()];
  const fingerprint = newFingerprint();
  const { open, opened } = gate();
  a.planned.before = opened;
  const held = a.send(fingerprint);
  a.planned.before = undefined;
  // None of these is answered, and the first is not even committed.
  const ids = await Promise.all([a, a, b, b].map((each) => each.send(fingerprint).id()));
  open();
  expect(new Set([...ids, await held.id()]).size).toBe(5);
});

test('nothing is written or asked for requests that are answered', async () => {
  const [a, b] = [world(), world()];
  const fingerprint = newFingerprint();
  const all = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? a : b).send(fingerprint));
  for (const { outcome, client } of all) void outcome.then(() => client.answered());
  await Promise.all(all.map(({ outcome }) => outcome));
  await Promise.all([a.close(), b.close()]);
  expect([a.writes, b.writes]).toEqual(Array(2).fill({ records: 0, takes: 0 }));
  expect(await sql`select from unheard_requests where fingerprint = ${fingerprint}`).toHaveLength(0);
});

test.each(['the same process', 'another process'])(
  'a repeated request at %s gets the order of a lost reply, until one reply is sent',
  async (where) => {
    const { a, fingerprint, orderId } = await lostReply();
    const b = where === 'another process' ? world() : a;
    if (a !== b) await untilRecorded(fingerprint);
    const second = b.send(fingerprint);
    expect(await second.outcome).toMatchObject({ kind: 'replayed', order: { id: orderId } });
    second.client.abort();
    if (a !== b) await untilRecorded(fingerprint);
    const third = a.send(fingerprint);
    expect(await third.id()).toBe(orderId);
    third.client.answered();
    const fourth = b.send(fingerprint);
    expect(await fourth.outcome).toMatchObject({ kind: 'created' });
    expect(await fourth.id()).not.toBe(orderId);
  },
);

test('a repeated request gets its order where such an address is not served any more', async () => {
  const { a, fingerprint, orderId } = await lostReply();
  const b = world();
  await untilRecorded(fingerprint);
  for (const each of [a, b]) each.planned.instead = { kind: 'unserviceable', fields: [] };
  const second = b.send(fingerprint);
  expect(await second.outcome).toMatchObject({ kind: 'replayed', order: { id: orderId } });
  second.client.answered();
  expect(await a.send(fingerprint).outcome).toEqual({ kind: 'unserviceable', fields: [] });
});

test('a request that is refused may be sent again where lost replies cannot be read', async () => {
  const { planned, send, breakReads } = world();
  planned.instead = { kind: 'unserviceable', fields: [] };
  breakReads();
  expect(await send(newFingerprint()).outcome).toEqual({ kind: 'unavailable' });
});

test('a repeated request whose client disconnects while it takes the order leaves it to the next one', async () => {
  const { a, fingerprint, orderId } = await lostReply();
  const { open, opened } = gate();
  const taking = gate();
  a.planned.beforeTaking = () => {
    taking.open();
    return opened;
  };
  const second = a.send(fingerprint);
  await taking.opened;
  second.client.abort();
  const third = a.send(fingerprint);
  open();
  expect(await third.id()).toBe(orderId);
});

test('an order whose taking has an unknown outcome is recorded again', async () => {
  const { a, fingerprint, orderId } = await lostReply();
  a.planned.afterTaking = () => Promise.reject(Object.assign(new Error('cut'), { code: 'CONNECTION_CLOSED' }));
  expect(await a.send(fingerprint).outcome).toEqual({ kind: 'unavailable' });
  a.planned.afterTaking = () => Promise.resolve();
  expect(await a.send(fingerprint).id()).toBe(orderId);
});

test('hundreds of lost replies of one body are each given out once, in a few statements', async () => {
  const [a, b] = [world(), world()];
  const fingerprint = newFingerprint();
  const lost = Array.from({ length: 300 }, (_, i) => (i % 2 === 0 ? a : b).send(fingerprint));
  const ids = await Promise.all(lost.map(({ id }) => id()));
  for (const { client } of lost) client.abort();
  await untilRecorded(fingerprint, 300);
  const again = Array.from({ length: 350 }, (_, i) => (i % 2 === 0 ? b : a).send(fingerprint));
  const outcomes = await Promise.all(again.map(({ outcome }) => outcome));
  const replayed = outcomes.filter(({ kind }) => kind === 'replayed');
  expect(replayed.map(orderOf).toSorted()).toEqual(ids.toSorted());
  expect(new Set(outcomes.map(orderOf)).size).toBe(350);
  expect(await recorded(fingerprint)).toEqual([]);
  for (const { writes } of [a, b]) {
    expect(writes.records).toBeLessThan(20);
    expect(writes.takes).toBeLessThan(60);
  }
});

test('a request whose client disconnects before its order is sent creates none, and nothing is recorded', async () => {
  const a = world();
  const fingerprint = newFingerprint();
  const { open, opened } = gate();
  a.planned.queued = opened;
  const first = a.send(fingerprint);
  await new Promise(setImmediate);
  first.client.abort();
  open();
  expect(await first.outcome).toEqual({ kind: 'unavailable' });
  await a.close();
  expect(a.writes).toEqual({ records: 0, takes: 0 });
  expect(await a.send(fingerprint).outcome).toMatchObject({ kind: 'created' });
});

test('a client that disconnects during the commit is recorded before the outcome is known', async () => {
  const [a, b] = [world(), world()];
  const fingerprint = newFingerprint();
  const { open, opened } = gate();
  a.planned.before = opened;
  const first = a.send(fingerprint);
  await new Promise(setImmediate);
  first.client.abort();
  await untilRecorded(fingerprint);
  const second = b.send(fingerprint);
  const made = await second.id();
  open();
  // An equal request settled that it is never created.
  expect(await first.outcome).toEqual({ kind: 'internal' });
  expect((await orderRow(sql, made)).status).toBe('pending_dispatch');
  expect(await recorded(fingerprint)).toEqual([]);
});

test('a repeated request waits for the commit of the first, and gets its order', async () => {
  const fingerprint = newFingerprint();
  const order = await draftOrder(sql, store, { idempotency: { key: null, fingerprint } });
  const inFlight = await openTransaction(database);
  await storeOf(inFlight.sql, 'other').insertOrders([order]);
  await storeOf(sql, 'other').recordLostReplies([{ fingerprint, orderId: order.id }]);
  const again = world().send(fingerprint);
  await untilBlocked(database);
  await inFlight.commit();
  expect(await again.outcome).toMatchObject({ kind: 'replayed', order: { id: order.id } });
});

test('the record of an order that is refused in the end is removed again', async () => {
  const a = world();
  const fingerprint = newFingerprint();
  const { open, opened } = gate();
  Object.assign(a.planned, { before: opened, instead: { kind: 'refused' } });
  const first = a.send(fingerprint);
  await new Promise(setImmediate);
  first.client.abort();
  await untilRecorded(fingerprint);
  open();
  expect(await first.outcome).toEqual({ kind: 'refused' });
  await untilRecorded(fingerprint, 0);
});

test('a repeated request whose client disconnects does not wait until the first lost reply is recorded', async () => {
  const { a, fingerprint, orderId } = await lostReply({ away: true });
  const second = a.send(fingerprint);
  await new Promise(setImmediate);
  second.client.abort();
  expect(await second.outcome).toEqual({ kind: 'unavailable' });
  a.tables.away = false;
  expect(await a.send(fingerprint).id()).toBe(orderId);
});

test('the wait for the order of an equal request does not count as a wait for the commit', async () => {
  const a = world();
  const fingerprint = newFingerprint();
  await storeOf(sql, 'other').recordLostReplies([{ fingerprint, orderId: newId() }]);
  expect(await a.send(fingerprint).outcome).toMatchObject({ kind: 'created' });
  const [whenItCame, later, ...more] = a.sinceMs;
  expect(whenItCame).toBe(0);
  expect(later).toBeGreaterThan(0);
  expect(more).toEqual([]);
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
  const b = world();
  const fingerprint = newFingerprint();
  const late = await draftOrder(sql, store, { idempotency: { key: null, fingerprint } });
  await storeOf(sql, 'gone').recordLostReplies([{ fingerprint, orderId: late.id }]);
  expect(await b.send(fingerprint).outcome).toMatchObject({ kind: 'created' });
  expect((await storeOf(sql, 'gone').insertOrders([late])).has(late.id)).toBe(false);
});

test('a lost reply that cannot be recorded is tried again, and no equal request starts meanwhile', async () => {
  const { a, fingerprint, orderId } = await lostReply({ away: true });
  let isOver = false;
  const second = a.send(fingerprint);
  void second.outcome.then(() => {
    isOver = true;
  });
  await recorded(fingerprint);
  expect(isOver).toBe(false);
  a.tables.away = false;
  expect(await second.id()).toBe(orderId);
});
