import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createStoreHolds } from '../../src/dispatch/store-holds.ts';
import { newId } from '../../src/domain/ids.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { connect } from '../../src/postgres/connect.ts';
import type { Store } from '../../src/store/store.ts';
import { createLogger } from '../../src/telemetry.ts';
import { AbortNotice } from '../../src/transport/signal.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { startDispatch } from '../harness/dispatch-here.ts';
import {
  addDriverRow,
  addOrder,
  addStoreRow,
  draftOrder,
  orderRow,
  PICKUP,
  type TestStore,
} from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { chargedOrder, failCharges } from '../harness/unpaid.ts';

const logger = createLogger('silent');
const SOON = { interval: 10 };

const database = await useFreshDatabase({ max: 10 });
const { sql } = database;
let store: TestStore;
beforeEach(async () => {
  await sql`truncate orders, drivers, driver_positions, outbox, payments, unproven_orders`;
  store = await addStoreRow(sql);
});

const cli = storeOf(sql, 'cli');

/** Drivers on duty by the store, on whom every process has a fresh position. */
async function standing(count: number): Promise<string[]> {
  const ids = await Promise.all(Array.from({ length: count }, () => addDriverRow(sql)));
  await cli.writePositions(ids.map((driverId) => ({ driverId, ...PICKUP, atMs: Date.now() })));
  return ids;
}
const waiting = (count: number, of = store) =>
  Promise.all(Array.from({ length: count }, async () => (await addOrder(sql, of)).orderId));
const assigned = async (of = store) => {
  const [row] = await sql`
    select count(*)::int as n from orders where retailer_id = ${of.retailerId} and status = 'driver_assigned'`;
  return row?.n as number;
};

/** The dispatch of an API process with its change feed; `tables` may stand in for some statements. */
async function openProcess(processId: string, tables: Partial<Store> = {}) {
  const sql = connect({ url: database.url, applicationName: processId, max: 10 });
  const real = { ...storeOf(sql, processId), ...tables };
  const tries = { assigns: 0, inserts: 0 };
  const counted: Store = {
    ...real,
    assignWaiting(...args) {
      tries.assigns++;
      return real.assignWaiting(...args);
    },
    insertOrders(...args) {
      tries.inserts++;
      return real.insertOrders(...args);
    },
  };
  const matcher = new Matcher(await real.loadTiers());
  const own = { store: counted, matcher, sql, processId, clock: { now: Date.now } };
  const { dispatch, parts } = await startDispatch({ ...own, config: { unpaidOrdersAllowed: 3 } });
  onTestFinished(async () => {
    await parts.closers.closeAll();
    await sql.end({ timeout: 1 });
  });
  // The start has swept; the events of a test are to be enough without a sweep.
  await dispatch.sweep.run();
  async function place(of = store) {
    const { request } = await draftOrder(database.sql, of, { smsOptIn: false });
    const terms = { name: 'Corner Market', keyEnds: false, ordersPerSecond: null };
    const key = { ...of, ...terms, address: request.pickupAddress, point: PICKUP };
    const caller = { sinceMs: performance.now(), signal: new AbortNotice() };
    return dispatch.placeRequest(request, key, { key: newId(), fingerprint: 'f' }, caller);
  }
  return { ...dispatch, matcher, place, tries };
}

test('orders of a suspended store wait and say why, and get drivers as soon as it is active again', async () => {
  const orderIds = await waiting(3);
  await cli.setRetailerStatus(store.retailerId, 'suspended');
  await standing(2);
  const process = await openProcess('me');
  await process.sweep.run();
  expect(await assigned()).toBe(0);
  expect(process.matcher.whyWaiting(orderIds[0] as string)).toBe('store_suspended');
  expect(process.tries.assigns).toBe(0);
  await cli.setRetailerStatus(store.retailerId, 'active');
  await expect.poll(() => assigned(), SOON).toBe(2);
  expect(process.matcher.whyWaiting(orderIds[0] as string)).not.toBe('store_suspended');
});

test('a store that is suspended while drivers are on their way to other orders leaves them to other stores', async () => {
  const other = await addStoreRow(sql);
  await waiting(5);
  const process = await openProcess('me');
  await cli.setRetailerStatus(store.retailerId, 'suspended');
  await expect.poll(() => process.matcher.holdOf(store.retailerId), SOON).toBe('store_suspended');
  await waiting(1, other);
  const [driverId] = await standing(1);
  await process.fleet.refreshDrivers([driverId as string]);
  process.redispatch.driverAvailable(driverId as string);
  await expect.poll(() => assigned(other), SOON).toBe(1);
  expect(await assigned()).toBe(0);
});

test('the row refuses what memory has missed, and the driver goes on to the order of another store', async () => {
  const other = await addStoreRow(sql);
  // No read tells this process of the suspension until it is refused.
  let knows = false;
  const loadHolds: Store['loadHolds'] = async (...args) => (knows ? cli.loadHolds(...args) : []);
  const process = await openProcess('me', { loadHolds });
  const [orderId] = await waiting(1);
  await cli.setRetailerStatus(store.retailerId, 'suspended');
  const [later] = await waiting(1, other);
  await process.fleet.refreshOrders([orderId as string, later as string]);
  await process.holds.reload();
  expect(process.matcher.holdOf(store.retailerId)).toBeNull();
  knows = true;
  const [driverId] = await standing(1);
  await process.fleet.refreshDrivers([driverId as string]);
  await process.redispatch.matchDriver(driverId as string);
  await expect.poll(() => assigned(other), SOON).toBe(1);
  expect(await orderRow(sql, later as string)).toMatchObject({ driver_id: driverId });
  expect(await orderRow(sql, orderId as string)).toMatchObject({ status: 'pending_dispatch' });
  expect(process.matcher.whyWaiting(orderId as string)).toBe('store_suspended');
});

test('a new order of a store that does not pay waits uncharged beside free drivers, and says why', async () => {
  await standing(5);
  const process = await openProcess('me');
  await failCharges(sql, store, 3);
  await expect.poll(() => process.matcher.holdOf(store.retailerId), SOON).toBe('payment_required');
  const outcome = await process.place();
  expect(outcome).toMatchObject({
    kind: 'created',
    order: { status: 'pending_dispatch', paymentStatus: 'not_charged' },
  });
  const id = 'order' in outcome ? outcome.order.id : '';
  expect(process.matcher.whyWaiting(id)).toBe('payment_required');
  expect(process.matcher.freeCount()).toBe(5);
});

test('a new order is committed as waiting where the row refuses the driver that memory chose', async () => {
  await standing(2);
  await failCharges(sql, store, 3);
  let knows = false;
  const loadHolds: Store['loadHolds'] = async (...args) => (knows ? cli.loadHolds(...args) : []);
  const process = await openProcess('me', { loadHolds });
  await process.holds.reload();
  knows = true;
  expect(await process.place()).toMatchObject({ kind: 'created', order: { status: 'pending_dispatch' } });
  expect(process.tries).toEqual({ assigns: 0, inserts: 2 });
  expect(process.matcher.freeCount()).toBe(2);
});

test('a paid order lets all waiting ones go, and a new card as many as are allowed', async () => {
  await failCharges(sql, store, 3);
  await waiting(12);
  await standing(10);
  const process = await openProcess('me');
  await process.sweep.run();
  expect([await assigned(), process.tries.assigns]).toEqual([3, 0]);
  await cli.setCard(store.retailerId, 'cus_2', 'pm_card_visa');
  // Three with the failed charges, and three on the new card.
  await expect.poll(() => assigned(), SOON).toBe(6);
  await process.sweep.run();
  expect(await assigned()).toBe(6);
  const paid = await sql`select id from orders where payment_status = 'processing' limit 1`;
  await cli.openPaymentAttempts([paid[0]?.id], 3);
  await cli.recordPaid([{ orderId: paid[0]?.id, attempt: 1, paymentIntentId: 'pi_1', outboxId: 0 }]);
  await expect.poll(() => assigned(), SOON).toBe(13);
});

test('of 300 orders at once at two processes a new card lets exactly 3 have a driver, mostly without asking', async () => {
  await failCharges(sql, store, 3);
  await cli.setCard(store.retailerId, 'cus_2', 'pm_card_visa');
  await standing(310);
  const processes = [await openProcess('a'), await openProcess('b')];
  const outcomes = await Promise.all(
    Array.from({ length: 300 }, (_, i) => (processes[i % 2] as (typeof processes)[number]).place()),
  );
  const given = outcomes.filter((outcome) => 'order' in outcome && outcome.order.status === 'driver_assigned');
  const queued = outcomes.filter((outcome) => 'order' in outcome && outcome.order.status === 'pending_dispatch');
  expect([given.length, queued.length]).toEqual([3, 297]);
  for (const { sweep } of processes) await sweep.run();
  // Three more have the failed charges.
  expect(await assigned()).toBe(6);
});

test('a process that missed the notice lets the store go at its next sweep', async () => {
  const process = await openProcess('me');
  await waiting(1);
  await sql`update retailers set status = 'suspended' where id = ${store.retailerId}`;
  await process.holds.reload();
  await expect.poll(() => process.matcher.waitingCount(), SOON).toBe(1);
  await standing(1);
  await process.sweep.run();
  expect(await assigned()).toBe(0);
  await sql`update retailers set status = 'active' where id = ${store.retailerId}`;
  await process.holds.reload();
  await expect.poll(() => assigned(), SOON).toBe(1);
});

test('a charge that fails in this very process holds the store here too', async () => {
  const process = await openProcess('me');
  const { settle } = await chargedOrder(sql, store);
  await settle('failed', 'me');
  await expect.poll(() => process.matcher.isWatched(store.retailerId), SOON).toBe(true);
  await failCharges(sql, store, 2);
  await expect.poll(() => process.matcher.holdOf(store.retailerId), SOON).toBe('payment_required');
});

/** The holds of a process whose reads the test answers. */
async function holdsOn(loadHolds: (memory: Matcher) => ReturnType<Store['loadHolds']>) {
  const matcher = new Matcher(await cli.loadTiers());
  const redispatch = { matchOrders: async () => undefined };
  const parts = {
    store: { loadHolds: () => loadHolds(matcher) },
    matcher,
    redispatch,
    clock: { now: Date.now },
    logger,
  };
  return { matcher, holds: createStoreHolds(parts) };
}

test('a store is read again where one of its orders was given a driver during the read', async () => {
  const { retailerId } = store;
  const found = [
    { retailerId, reason: null, credit: 1 },
    { retailerId, reason: 'payment_required', credit: 0 },
  ] as const;
  let reads = 0;
  const { matcher, holds } = await holdsOn(async (memory) => {
    // The first read is older than the order.
    if (reads === 0) memory.noteAssigned(retailerId);
    return [found[Math.min(reads++, 1)] ?? found[0]];
  });
  await holds.reload();
  expect([matcher.holdOf(retailerId), reads]).toEqual(['payment_required', 2]);
});

test('reads are applied in the order in which they began', async () => {
  const answers: ((reason: 'store_suspended' | null) => void)[] = [];
  const { matcher, holds } = await holdsOn(
    () =>
      new Promise((resolve) => {
        answers.push((reason) => resolve(reason ? [{ retailerId: store.retailerId, reason, credit: 0 }] : []));
      }),
  );
  const [first, second] = [holds.refresh([store.retailerId]), holds.reload()];
  await expect.poll(() => answers.length, SOON).toBe(1);
  answers[0]?.('store_suspended');
  await first;
  expect(matcher.holdOf(store.retailerId)).toBe('store_suspended');
  await expect.poll(() => answers.length, SOON).toBe(2);
  answers[1]?.(null);
  await second;
  expect(matcher.isWatched(store.retailerId)).toBe(false);
});
