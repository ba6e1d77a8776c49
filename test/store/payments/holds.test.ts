import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { MAX_PAYMENT_ATTEMPTS_EVER } from '../../../src/limits.ts';
import { connect } from '../../../src/postgres/connect.ts';
import type { NewOrder } from '../../../src/store/orders/orders-create.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import {
  addDriverRow,
  addOrder,
  addStoreRow,
  draftOrder,
  orderRow,
  type TestStore,
  UNSTAMPED,
} from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { chargedOrder, failCharges } from '../../harness/unpaid.ts';
import { openAttempt, recordAttempt } from '../../harness/vendor-rows.ts';
import { noticesDuring, openTransaction, untilBlocked } from '../transaction.ts';

const database = await useFreshDatabase({ max: 10 });
const { sql } = database;
let store: TestStore;
beforeEach(async () => {
  // The declines of the tests before count no more: stores of tests share a card.
  await sql`update payments set first_sent_at = first_sent_at - interval '25 hours'`;
  store = await addStoreRow(sql);
});

const near = (driverId: string) => ({ driverId, shownMeters: 120 });
const me = storeOf(sql, 'me');
const holdOf = async (allowed = 3) => {
  const [hold] = await me.loadHolds(allowed, [store.retailerId]);
  return hold && { reason: hold.reason, credit: hold.credit };
};
const account = async () => {
  const [row] = await sql`
    select unpaid_orders_of(r.id) as unpaid_orders, payment_failed_at is not null as unproven,
      (select count(*)::int from unproven_orders u where u.retailer_id = r.id) as listed
    from retailers r where id = ${store.retailerId}`;
  return { ...row };
};
const standing = async () => [await account(), await holdOf()];
const OWES_NOTHING = [
  { unpaid_orders: 0, unproven: true, listed: 0 },
  { reason: null, credit: 3 },
];
const PAYS = [{ unpaid_orders: 0, unproven: false, listed: 0 }, undefined];
const statuses = async (ids: readonly string[]) => {
  const rows = await sql`
    select status, count(*)::int as n from orders where id = any(${[...ids]}::uuid[]) group by 1`;
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
};
/** So many orders, each with a driver of its own. */
const drafts = (count: number): Promise<NewOrder[]> =>
  Promise.all(
    Array.from({ length: count }, async () =>
      draftOrder(sql, store, { driverId: await addDriverRow(sql), smsOptIn: false }),
    ),
  );
const waitingOrder = async () => (await addOrder(sql, store, { smsOptIn: false })).orderId;
const newCard = () => me.setCard(store.retailerId, 'cus_2', 'pm_other');

describe('the account of a store', () => {
  test('counts charges that failed for good, and no other decline', async () => {
    const { settle } = await chargedOrder(sql, store);
    await settle('declined');
    expect(await account()).toEqual({ unpaid_orders: 0, unproven: false, listed: 0 });
    await settle('failed');
    expect(await account()).toEqual({ unpaid_orders: 1, unproven: true, listed: 0 });
    expect(await holdOf()).toEqual({ reason: null, credit: 2 });
    await failCharges(sql, store, 2);
    expect(await holdOf()).toEqual({ reason: 'payment_required', credit: 0 });
    expect(await holdOf(4)).toEqual({ reason: null, credit: 1 });
  });

  test('holds from the first failure on where 0 or 1 is allowed, and lets one order of a new card go', async () => {
    await failCharges(sql, store, 1);
    expect([await holdOf(0), await holdOf(1)]).toEqual(Array(2).fill({ reason: 'payment_required', credit: 0 }));
    await newCard();
    expect([await holdOf(0), await holdOf(1)]).toEqual(Array(2).fill({ reason: null, credit: 1 }));
  });

  test('is clear after a paid order, and as unproven as before after a new card', async () => {
    await failCharges(sql, store, 3);
    await newCard();
    expect(await account()).toEqual({ unpaid_orders: 0, unproven: true, listed: 0 });
    const [first] = await drafts(1);
    await me.insertOrders([first as NewOrder]);
    expect(await holdOf()).toEqual({ reason: null, credit: 2 });
    const paid = await chargedOrder(sql, store);
    await paid.settle('paid');
    expect(await standing()).toEqual(PAYS);
  });

  test('of a store that pays is not written', async () => {
    const row = async () => (await sql`select xmin::text from retailers where id = ${store.retailerId}`)[0]?.xmin;
    const before = await row();
    const { settle } = await chargedOrder(sql, store);
    const notices = await noticesDuring(database, () => settle('paid'));
    expect([await row(), notices.filter((notice) => notice.includes(':retailer:'))]).toEqual([before, []]);
    expect((await account()).listed).toBe(0);
  });

  test('counts the charges that were under way when the first one failed', async () => {
    const orders = await Promise.all(Array.from({ length: 5 }, () => chargedOrder(sql, store)));
    await orders[0]?.settle('failed');
    expect(await holdOf(10)).toEqual({ reason: null, credit: 5 });
    expect(await holdOf()).toEqual({ reason: 'payment_required', credit: 0 });
    await orders[1]?.settle('failed');
    expect(await holdOf(10)).toEqual({ reason: null, credit: 5 });
    expect(await account()).toEqual({ unpaid_orders: 2, unproven: true, listed: 3 });
    await orders[2]?.settle('paid');
    expect(await account()).toEqual({ unpaid_orders: 0, unproven: false, listed: 0 });
  });

  test('gets the credit back of an order that was cancelled before anything was sent', async () => {
    await failCharges(sql, store, 1);
    const { orderId, jobs } = await addOrder(sql, store, { driverId: await addDriverRow(sql) });
    expect(await holdOf()).toEqual({ reason: null, credit: 1 });
    await me.cancelOrder(orderId, 'operator', 'other');
    const notices = await noticesDuring(database, () => me.recordUncharged(orderId, jobs.charge?.id ?? 0));
    expect(notices).toContain(`me:retailer:${store.retailerId}`);
    expect([await holdOf(), (await account()).listed]).toEqual([{ reason: null, credit: 2 }, 0]);
  });

  test('tells every process of a failure, a paid order, a new card, a suspension and its end', async () => {
    const { retailerId } = store;
    const [failing, paying] = [await chargedOrder(sql, store), await chargedOrder(sql, store)];
    const notices = await noticesDuring(database, async () => {
      await failing.settle('failed', 'me');
      await newCard();
      await paying.settle('paid', 'me');
      await me.setRetailerStatus(retailerId, 'suspended');
      await me.setRetailerStatus(retailerId, 'active');
    });
    expect(notices.filter((notice) => notice === `me:retailer:${retailerId}`)).toHaveLength(5);
  });
});

/** What ends an order undelivered, for its store or for want of a driver. */
const ENDS = {
  async cancelled(orderId: string) {
    expect(await me.cancelOrder(orderId, { retailerId: store.retailerId }, 'other')).not.toBeNull();
  },
  async expired(orderId: string) {
    const [order] = await sql`select driver_id from orders where id = ${orderId}`;
    await me.releaseOrder(orderId, order?.driver_id, 'vehicle', UNSTAMPED);
    await sql`update orders set expires_at = now() where id = ${orderId}`;
    expect(await me.expireOrder(orderId)).not.toBeNull();
  },
} as const;

describe.each(['cancelled', 'expired'] as const)('an order that is %s', (to) => {
  const end = ENDS[to];
  const charged = (count: number) => Promise.all(Array.from({ length: count }, () => chargedOrder(sql, store)));

  test('before its charge failed owes nothing, and its store pays as before', async () => {
    for (const { orderId, settle } of await charged(3)) {
      await openAttempt(sql, orderId);
      await end(orderId);
      expect(await settle('failed')).toBe(true);
    }
    expect(await standing()).toEqual(PAYS);
    expect(await me.findAccount(store.retailerId)).toMatchObject({
      card: 'set',
      unpaidOrders: 0,
      paymentRequired: false,
    });
  });

  test('before its charge failed gives an unproven store the credit back, and tells every process', async () => {
    const [ended] = await charged(1);
    await openAttempt(sql, ended?.orderId ?? '');
    await failCharges(sql, store, 1);
    expect(await holdOf()).toEqual({ reason: null, credit: 1 });
    await end(ended?.orderId ?? '');
    const notices = await noticesDuring(database, async () => ended?.settle('failed', 'me'));
    expect(notices).toContain(`me:retailer:${store.retailerId}`);
    expect(await standing()).toEqual([
      { unpaid_orders: 1, unproven: true, listed: 0 },
      { reason: null, credit: 2 },
    ]);
  });

  test('after its charge failed is not owed any more, and tells every process', async () => {
    const failed = await failCharges(sql, store, 3);
    expect(await holdOf()).toEqual({ reason: 'payment_required', credit: 0 });
    const notices = await noticesDuring(database, () => end(failed[0] as string));
    expect(notices.filter((notice) => notice.endsWith(`:retailer:${store.retailerId}`))).toHaveLength(1);
    expect(await holdOf()).toEqual({ reason: null, credit: 1 });
    await end(failed[1] as string);
    await end(failed[2] as string);
    expect(await standing()).toEqual(OWES_NOTHING);
  });

  test('while its charge is tried again owes nothing, whatever comes of that', async () => {
    const [orderId] = await failCharges(sql, store, 1);
    await me.retryCharges({ orderId: orderId as string }, 3, MAX_PAYMENT_ATTEMPTS_EVER);
    await openAttempt(sql, orderId as string);
    await end(orderId as string);
    const again = { status: 'declined', failureCode: 'lost_card', final: true } as const;
    expect(await recordAttempt(sql, { orderId: orderId as string, attempt: 2 }, again, 0)).toBe(true);
    expect(await standing()).toEqual(OWES_NOTHING);
  });

  test('after a decline that may pass, and never charged, owes nothing', async () => {
    const { orderId, settle } = await chargedOrder(sql, store);
    await settle('declined');
    await end(orderId);
    expect(await me.recordUncharged(orderId, 0)).not.toBeNull();
    expect(await orderRow(sql, orderId)).toMatchObject({ payment_status: 'failed' });
    expect(await account()).toEqual({ unpaid_orders: 0, unproven: false, listed: 0 });
  });

  test('whose charge failed on the card of before does not make room for one that failed on the new card', async () => {
    const [before] = await failCharges(sql, store, 1);
    await newCard();
    await failCharges(sql, store, 1);
    await end(before as string);
    expect([(await account()).unpaid_orders, await holdOf()]).toEqual([1, { reason: null, credit: 2 }]);
  });

  test('is not owed, whether its end or its decline comes first', async () => {
    const orders = await charged(12);
    for (const { orderId } of orders) await openAttempt(sql, orderId);
    await Promise.all(orders.flatMap(({ orderId, settle }) => [settle('failed'), end(orderId)]));
    expect((await account()).unpaid_orders).toBe(0);
    expect(await holdOf()).not.toMatchObject({ reason: 'payment_required' });
  });

  test('does not see the decline that is being written, and is not owed after it', async () => {
    const { orderId, settle } = await chargedOrder(sql, store);
    await openAttempt(sql, orderId);
    const theirs = await openTransaction(database);
    const result = { status: 'declined', failureCode: 'lost_card', final: true } as const;
    await storeOf(theirs.sql, 'other').recordDeclined({ orderId, attempt: 1 }, result, 0);
    const mine = end(orderId);
    await untilBlocked(database);
    await theirs.commit();
    await mine;
    expect(await settle('failed')).toBe(false);
    expect(await standing()).toEqual(OWES_NOTHING);
  });
});

describe('an order of a held store', () => {
  test('is not created with a driver, who stays free, and can be created without one', async () => {
    await failCharges(sql, store, 3);
    const [order] = (await drafts(1)) as [NewOrder];
    expect(await me.insertOrders([order])).toEqual(new Map());
    expect(await me.explainRefused([order])).toEqual(new Map([[order.id, 'held']]));
    const created = await me.insertOrders([{ ...order, driver: null }]);
    expect(created.size).toBe(1);
    expect(await orderRow(sql, order.id)).toMatchObject({
      status: 'pending_dispatch',
      payment_status: 'not_charged',
    });
    const other = await draftOrder(sql, await addStoreRow(sql), {
      driverId: order.driver?.driverId ?? null,
    });
    expect((await me.insertOrders([other])).size).toBe(1);
  });

  test('leaves the rest of its batch alone', async () => {
    await failCharges(sql, store, 3);
    const [held] = (await drafts(1)) as [NewOrder];
    const other = await draftOrder(sql, await addStoreRow(sql), {
      driverId: await addDriverRow(sql),
    });
    expect([...(await me.insertOrders([held, other])).keys()]).toEqual([other.id]);
  });

  test('gets no driver while it waits, and says why', async () => {
    const [orderId, driverId] = [await waitingOrder(), await addDriverRow(sql)];
    await me.setRetailerStatus(store.retailerId, 'suspended');
    expect(await me.assignWaiting(orderId, near(driverId))).toEqual({ kind: 'held', reason: 'store_suspended' });
    await me.setRetailerStatus(store.retailerId, 'active');
    await failCharges(sql, store, 3);
    expect(await me.assignWaiting(orderId, near(driverId))).toEqual({ kind: 'held', reason: 'payment_required' });
    expect(await orderRow(sql, orderId)).toMatchObject({ status: 'pending_dispatch', sequence: 1 });
    expect(await me.assignWaiting(orderId, near(driverId), 4)).toMatchObject({ kind: 'assigned' });
  });

  test('gets another driver if its fee was charged, or is being charged', async () => {
    const [paid, sending] = [await chargedOrder(sql, store), await chargedOrder(sql, store)];
    await paid.settle('paid');
    await failCharges(sql, store, 3);
    for (const { orderId } of [paid, sending]) {
      await sql`update orders set status = 'pending_dispatch', driver_id = null where id = ${orderId}`;
      const outcome = await me.assignWaiting(orderId, near(await addDriverRow(sql)));
      expect(outcome).toMatchObject({ kind: 'assigned' });
      await me.setRetailerStatus(store.retailerId, 'suspended');
      await sql`update orders set status = 'pending_dispatch', driver_id = null where id = ${orderId}`;
      const suspended = await me.assignWaiting(orderId, near(await addDriverRow(sql)));
      expect(suspended).toEqual({ kind: 'held', reason: 'store_suspended' });
      await me.setRetailerStatus(store.retailerId, 'active');
    }
  });

  test('is shown with the reason to the operator', async () => {
    const orderId = await waitingOrder();
    await failCharges(sql, store, 3);
    expect(await me.showOrder(orderId, 3)).toMatchObject({ waiting_because: 'payment_required' });
    expect(await me.showOrder(orderId, 5)).toMatchObject({
      waiting_because: expect.stringMatching(/^(no|none|all)_/),
    });
    const anyOrder = { retailerIds: [store.retailerId], driverIds: null, since: null, until: null, text: null };
    const listed = await me.listOrders({ ...anyOrder, status: 'pending_dispatch' }, { limit: 200, after: null }, 3);
    expect(listed.rows.find(({ order_id }) => order_id === orderId)).toMatchObject({
      waiting_because: 'payment_required',
    });
    await me.setRetailerStatus(store.retailerId, 'suspended');
    expect(await me.showOrder(orderId, 3)).toMatchObject({ waiting_because: 'store_suspended' });
  });
});

describe('the credit of an unproven store', () => {
  beforeEach(async () => {
    await failCharges(sql, store, 3);
    await newCard();
  });
  /** A second process, on connections of its own. */
  const other = () => {
    const theirs = connect({ url: database.url, applicationName: 'other', max: 10 });
    onTestFinished(() => theirs.end({ timeout: 1 }));
    return storeOf(theirs, 'other');
  };

  test('lets exactly 3 of 300 new orders have a driver, in batches of two processes at once', async () => {
    const orders = await drafts(300);
    const theirs = other();
    const batches = Array.from({ length: 12 }, (_, i) => orders.slice(25 * i, 25 * (i + 1)));
    await Promise.all(batches.map((batch, i) => (i % 2 ? theirs : me).insertOrders(batch)));
    expect(await statuses(orders.map(({ id }) => id))).toEqual({ driver_assigned: 3 });
    expect([await holdOf(), (await account()).listed]).toEqual([{ reason: 'payment_required', credit: 0 }, 3]);
  });

  test('lets exactly 3 of 300 orders of one batch have a driver', async () => {
    const orders = await drafts(300);
    const created = await me.insertOrders(orders);
    expect(created.size).toBe(3);
    const refused = orders.filter(({ id }) => !created.has(id));
    expect(new Set((await me.explainRefused(refused)).values())).toEqual(new Set(['held']));
  });

  test('lets exactly 3 of 100 waiting orders have a driver, beside new ones of another process', async () => {
    const waiting = await Promise.all(Array.from({ length: 100 }, waitingOrder));
    const drivers = await Promise.all(waiting.map(() => addDriverRow(sql)));
    const fresh = await drafts(50);
    const theirs = other();
    const outcomes = await Promise.all([
      ...waiting.map((id, i) => (i % 2 ? theirs : me).assignWaiting(id, near(drivers[i] as string))),
      theirs.insertOrders(fresh).then(() => null),
    ]);
    const all = [...waiting, ...fresh.map(({ id }) => id)];
    expect((await statuses(all)).driver_assigned).toBe(3);
    const kinds = new Set(outcomes.map((outcome) => outcome?.kind));
    expect(kinds.has('driver_lost')).toBe(false);
  });

  test('counts what another process gave away while a statement waited for it', async () => {
    const orders = await drafts(4);
    const theirs = await openTransaction(database);
    await storeOf(theirs.sql, 'other').insertOrders(orders.slice(0, 2));
    const mine = me.insertOrders(orders.slice(2));
    await untilBlocked(database);
    await theirs.commit();
    expect((await mine).size).toBe(1);
  });

  test('is none any more once an order was paid, however many go at once', async () => {
    const paid = await chargedOrder(sql, store);
    await paid.settle('paid');
    expect((await me.insertOrders(await drafts(20))).size).toBe(20);
    expect((await account()).listed).toBe(0);
  });

  test('does not deadlock with results of charges, in either order', async () => {
    const orders = await drafts(3);
    await me.insertOrders(orders);
    const waiting = await Promise.all(Array.from({ length: 20 }, waitingOrder));
    const drivers = await Promise.all(waiting.map(() => addDriverRow(sql)));
    const opened = await me.openPaymentAttempts(
      orders.map(({ id }) => id),
      3,
    );
    const decline = (id: string) =>
      me.recordDeclined({ orderId: id, attempt: 1 }, { failureCode: 'lost_card', final: true }, 0);
    await Promise.all([
      ...waiting.map((id, i) => me.assignWaiting(id, near(drivers[i] as string))),
      ...[...opened.keys()].slice(1).map(decline),
      me.recordPaid([{ orderId: orders[0]?.id ?? '', attempt: 1, paymentIntentId: 'pi', outboxId: 0 }]),
      ...(await drafts(10)).map((order) => me.insertOrders([order])),
    ]);
  });
});

describe('cancelling all waiting orders of a store', () => {
  test('cancels them in statements of bounded size, tells the store, and leaves others and newer ones alone', async () => {
    const elsewhere = (await addOrder(sql, await addStoreRow(sql))).orderId;
    const carried = await chargedOrder(sql, store);
    await me.setWebhook(store.retailerId, 'https://shop.example/hook', 'whsec_1');
    const waiting = await Promise.all(Array.from({ length: 5 }, waitingOrder));
    await sql`update orders set dispatch_from = now() + interval '2 days' where id = ${waiting[1] as string}`;
    const counted = await me.countWaitingOf(store.retailerId);
    expect(counted).toMatchObject({ waiting: 4, later: 1 });
    const at = counted?.at ?? new Date(0);
    const later = await waitingOrder();
    await sql`update orders set created_at = ${at}::timestamptz + interval '1 millisecond' where id = ${later}`;
    const rounds: string[][] = [];
    const notices = await noticesDuring(database, async () => {
      do rounds.push((await me.cancelWaiting(store.retailerId, at, 2)).map(({ id }) => id));
      while (rounds.at(-1)?.length);
    });
    expect(rounds.map(({ length }) => length)).toEqual([2, 2, 1, 0]);
    expect(rounds.flat().toSorted()).toEqual(waiting.toSorted());
    expect(notices.every((notice) => notice.startsWith('me:order:'))).toBe(true);
    expect(await orderRow(sql, waiting[0] as string)).toMatchObject({
      status: 'cancelled',
      cancelled_by: 'operator',
      reason_code: 'other',
      payment_status: 'not_charged',
    });
    for (const kept of [elsewhere, later]) expect((await orderRow(sql, kept)).status).toBe('pending_dispatch');
    expect((await orderRow(sql, carried.orderId)).status).toBe('driver_assigned');
    await me.numberEvents();
    const told = await sql`
      select order_id from webhook_deliveries where type = 'order.cancelled' and retailer_id = ${store.retailerId}`;
    expect(told.map(({ order_id }) => order_id).toSorted()).toEqual(waiting.toSorted());
    const owed = await sql`
      select queue from outbox where order_id = any(${waiting}::uuid[]) and done_at is null`;
    expect(new Set(owed.map(({ queue }) => queue))).toEqual(new Set(['webhook']));
  });

  test('leaves out an order that gets a driver in the same moment', async () => {
    const [orderId, driverId] = [await waitingOrder(), await addDriverRow(sql)];
    const other = await openTransaction(database);
    await storeOf(other.sql, 'other').assignWaiting(orderId, near(driverId));
    const mine = me.cancelWaiting(store.retailerId, new Date());
    await untilBlocked(database);
    await other.commit();
    expect(await mine).toEqual([]);
  });
});
