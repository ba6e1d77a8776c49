import { beforeAll, expect, test } from 'vitest';
import { createListTurns } from '../../src/http/list-turns.ts';
import { storeReader } from '../../src/http/readers.ts';
import { ordersGet } from '../../src/http/routes/orders-get.ts';
import { ordersList } from '../../src/http/routes/orders-list.ts';
import { createReadRates } from '../../src/http/store-rate.ts';
import type { Matcher } from '../../src/matcher/matcher.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addStoreRow, type TestStore } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { addWaiting, inOneStep, leaseOf, MINUTE, nowMs, plan, rangeAt } from '../store/plan-world.ts';
import { letIn, startServer } from './support.ts';

const database = await useFreshDatabase();
let store: TestStore;
let doorMs: number;
let planned: string;
let other: string;
beforeAll(async () => {
  const { sql } = database;
  store = await addStoreRow(sql);
  [planned, other] = [await addWaiting(sql, store), await addWaiting(sql, store)];
  doorMs = (await nowMs(sql)) + 30 * MINUTE;
  const lease = await leaseOf(sql);
  expect(await storeOf(sql).writePlans(lease, [plan(planned, await addDriverRow(sql), doorMs)], [])).toBe(true);
  // A change of the plan is an event that the order shows.
  doorMs += 10 * MINUTE;
  await storeOf(sql).writePlans(lease, [plan(planned, await addDriverRow(sql), doorMs)], []);
});

type Shown = {
  readonly id: string;
  readonly status: string;
  readonly waiting_because?: string;
  readonly estimated_delivery: object | null;
  readonly events: readonly { readonly type: string }[];
};

/** Both orders in both views, while the process believes that they wait for this reason. */
async function views(reason: ReturnType<Matcher['whyWaiting']>) {
  const parts = {
    stores: letIn(storeReader({ retailerId: store.retailerId })),
    reads: createReadRates(0),
    turns: createListTurns(),
    store: storeOf(database.sql),
    matcher: { whyWaiting: () => reason, driver: () => undefined },
    trackingUrl: () => 'http://127.0.0.1',
    now: Date.now,
  };
  const { url } = await startServer({ routes: [ordersGet(parts), ordersList(parts)] });
  const { found, readMs } = await inOneStep(database.sql, async () => {
    const listed = (await (await fetch(`${url}/orders`)).json()) as { orders: Shown[] };
    const one = async (id: string) => ((await (await fetch(`${url}/orders/${id}`)).json()) as { order: Shown }).order;
    return { listed: listed.orders, read: [await one(planned), await one(other)] };
  });
  return { ...found, range: rangeAt(doorMs, readMs) };
}

test('an order with a plan is planned, and says when it comes; one without says why nobody is meant for it', async () => {
  const { listed, read, range } = await views('all_drivers_busy');
  for (const orders of [listed, read]) {
    const of = (id: string) => orders.find((order) => order.id === id);
    expect(of(planned)).toMatchObject({ waiting_because: 'planned', estimated_delivery: range });
    expect(of(other)).toMatchObject({ waiting_because: 'all_drivers_busy', estimated_delivery: null });
  }
  expect(read[0]?.events.map(({ type }) => type)).toEqual(['created', 'estimate_changed']);
});

test('a plan goes before the time of an order and what this process does not know, and a hold before a plan', async () => {
  for (const reason of ['not_yet', undefined] as const) {
    const { read } = await views(reason);
    expect(read.map((order) => order.waiting_because)).toEqual(['planned', reason]);
  }
  const { listed, read } = await views('payment_required');
  for (const order of [...listed, ...read]) {
    expect(order).toMatchObject({ waiting_because: 'payment_required', estimated_delivery: null });
  }
});
