import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/domain/ids.ts';
import type { Doubt, Receipt } from '../../../src/domain/payout.ts';
import { MAX_PAYOUT_NOTES_LENGTH } from '../../../src/limits.ts';
import type { PaymentResult } from '../../../src/store/payments/payments.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, type TestStore, UNSTAMPED } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { openAttempt, recordAttempt } from '../../harness/vendor-rows.ts';
import { openTransaction, untilBlocked } from '../transaction.ts';

const PAID: PaymentResult = { status: 'paid', paymentIntentId: 'pi_1' };
const NEVER: PaymentResult = { status: 'declined', failureCode: 'lost_card', final: true };

const database = await useFreshDatabase();
const { sql } = database;
const store = await addStoreRow(sql);

function received(...doubts: Doubt[]): Receipt {
  const position = { distanceMeters: 7_000, positionAt: new Date(0) };
  return { ...position, stampIsPlausible: true, doubts, proof: null, pickedUpAt: null };
}

/** An order with a driver and an open payment attempt, and what its driver may do with it. */
async function carried(by: TestStore = store) {
  const driverId = await addDriverRow(sql);
  const { orderId, jobs } = await addOrder(sql, by, { driverId });
  await openAttempt(sql, orderId);
  const tables = storeOf(sql, 'me');
  return {
    orderId,
    driverId,
    pay: (result = PAID) => recordAttempt(sql, { orderId, attempt: 1 }, result, jobs.charge?.id ?? 0),
    pickUp: (...doubts: Doubt[]) => tables.pickUpOrder(orderId, driverId, UNSTAMPED, received(...doubts)),
    deliver: (...doubts: Doubt[]) => tables.deliverOrder(orderId, driverId, 'p.jpg', UNSTAMPED, received(...doubts)),
    fail: (...doubts: Doubt[]) =>
      tables.markUndeliverable(orderId, driverId, 'nobody_home', UNSTAMPED, received(...doubts)),
    bringBack: (...doubts: Doubt[]) => tables.returnOrder(orderId, driverId, UNSTAMPED, received(...doubts)),
    payout: async () => (await sql`select * from payouts where order_id = ${orderId}`)[0],
  };
}

/** A paid order that was delivered with these doubts. */
async function delivered(...doubts: Doubt[]) {
  const order = await carried();
  await order.pay();
  await order.pickUp();
  await order.deliver(...doubts);
  return order;
}

describe('a payout', () => {
  test('is owed for the amount of the order once a paid order is delivered or brought back', async () => {
    const one = await delivered();
    expect(await one.payout()).toMatchObject({
      driver_id: one.driverId,
      amount_cents: 550,
      status: 'owed',
      reasons: [],
      paid_at: null,
    });
    const other = await carried();
    await other.pay();
    await other.pickUp();
    await other.fail();
    expect(await other.payout()).toBeUndefined();
    await other.bringBack();
    expect(await other.payout()).toMatchObject({ status: 'owed', reasons: [] });
  });

  test('is held for the doubts about any of its steps, each named once', async () => {
    const order = await carried();
    await order.pay();
    await order.pickUp('pickup_far', 'no_position');
    await order.fail('no_position');
    await order.bringBack('too_fast');
    const payout = await order.payout();
    expect(payout).toMatchObject({ status: 'held', reasons: ['no_position', 'pickup_far', 'too_fast'] });
  });

  test('is not made for an order that the operator ends', async () => {
    const order = await carried();
    await order.pay();
    await order.pickUp();
    await order.fail();
    await storeOf(sql).returnForDriver(order.orderId);
    expect(await order.payout()).toBeUndefined();
  });

  test('of an unpaid order is held until the order is paid', async () => {
    for (const doubts of [[], ['too_fast']] as const) {
      const order = await carried();
      await order.pickUp();
      await order.deliver(...doubts);
      expect(await order.payout()).toMatchObject({ status: 'held', reasons: [...doubts, 'unpaid'] });
      await order.pay();
      expect(await order.payout()).toMatchObject({ status: doubts.length ? 'held' : 'owed', reasons: [...doubts] });
    }
    const declined = await carried();
    await declined.pay(NEVER);
    await declined.pickUp();
    await declined.deliver();
    expect(await declined.payout()).toMatchObject({ status: 'held', reasons: ['unpaid'] });
  });

  test('is owed whether the payment or the delivery is recorded first, also at the same moment', async () => {
    const order = await carried();
    await order.pickUp();
    const other = await openTransaction(database);
    await storeOf(other.sql).deliverOrder(order.orderId, order.driverId, 'p.jpg', UNSTAMPED);
    const paying = order.pay();
    await untilBlocked(database);
    await other.commit();
    await paying;
    expect(await order.payout()).toMatchObject({ status: 'owed', reasons: [] });

    const late = await carried();
    await late.pickUp();
    const charge = await openTransaction(database);
    await recordAttempt(charge.sql, { orderId: late.orderId, attempt: 1 }, PAID, 0);
    const delivering = late.deliver();
    await untilBlocked(database);
    await charge.commit();
    await delivering;
    expect(await late.payout()).toMatchObject({ status: 'owed', reasons: [] });
  });

  test('is released, paid and voided by the operator, each step once and in this order only', async () => {
    const { settlePayout } = storeOf(sql);
    const order = await delivered('handover_far');
    const settle = (to: 'owed' | 'paid' | 'void', note: string | null = null) => settlePayout(order.orderId, to, note);
    expect(await settle('paid')).toEqual({ settled: false, status: 'held', amountCents: 550 });
    expect(await settle('owed', 'the photo is good')).toEqual({ settled: true, status: 'owed', amountCents: 550 });
    expect(await settle('paid')).toEqual({ settled: true, status: 'paid', amountCents: 550 });
    const paid = await order.payout();
    expect(paid).toMatchObject({ note: 'the photo is good', reasons: ['handover_far'], paid_at: expect.any(Date) });
    expect(await settle('paid')).toMatchObject({ settled: true });
    expect(await settle('paid', 'by transfer 7')).toMatchObject({ settled: true });
    await settle('paid', 'the photo is good');
    expect(await settle('void')).toMatchObject({ settled: false, status: 'paid' });
    expect(await order.payout()).toEqual({ ...paid, note: 'the photo is good; by transfer 7' });

    const invented = await delivered('too_fast');
    expect(await settlePayout(invented.orderId, 'void', 'no parcel arrived')).toMatchObject({ settled: true });
    expect(await settlePayout(invented.orderId, 'owed', null)).toMatchObject({ settled: false, status: 'void' });
    expect(await settlePayout(newId(), 'owed', null)).toBeNull();
  });

  test('keeps each note once, and of many the newest words', async () => {
    const order = await delivered();
    const notes = Array.from({ length: 12 }, (_, n) => `${n} `.padEnd(400, 'x'));
    for (const note of [...notes, notes.at(-1), notes.at(-2)]) {
      await storeOf(sql).settlePayout(order.orderId, 'owed', note ?? null);
    }
    const kept = (await order.payout())?.note as string;
    expect(kept).toHaveLength(MAX_PAYOUT_NOTES_LENGTH);
    expect(kept).toBe(notes.join('; ').slice(-MAX_PAYOUT_NOTES_LENGTH));
  });

  test('of an order that is void stays so when the order is paid', async () => {
    const order = await carried();
    await order.pickUp();
    await order.deliver();
    await storeOf(sql).settlePayout(order.orderId, 'void', 'no');
    await order.pay();
    expect(await order.payout()).toMatchObject({ status: 'void' });
  });
});

test('payouts are listed by status, driver and store, oldest order first, in pages', async () => {
  const own = await addStoreRow(sql);
  const orders = [];
  for (let index = 0; index < 3; index++) {
    const order = await carried(own);
    await order.pay();
    await order.pickUp();
    await order.deliver('too_fast');
    orders.push(order);
  }
  const { listPayouts } = storeOf(sql);
  const [first, second, third] = orders.map(({ orderId }) => orderId);
  const search = {
    status: 'held',
    driverIds: null,
    retailerIds: [own.retailerId],
    since: null,
    until: null,
    text: null,
  } as const;
  const page = await listPayouts(search, { limit: 2, after: null });
  expect(page).toMatchObject({ rows: [{ order_id: first }, { order_id: second }], more: 1, isExact: true });
  expect(page.rows[0]).toMatchObject({
    driver_id: orders[0]?.driverId,
    driver: 'Sam Rider',
    store: 'Corner Market',
    reasons: ['too_fast'],
    amount_cents: 550,
    order_status: 'delivered',
    payment_status: 'paid',
  });
  const idsOf = async (changed: object, after = null as typeof page.next) =>
    (await listPayouts({ ...search, ...changed }, { limit: 9, after })).rows.map(({ order_id }) => order_id);
  expect(await idsOf({}, page.next)).toEqual([third]);
  expect(await idsOf({ retailerIds: null, driverIds: [orders[1]?.driverId] })).toEqual([second]);
  expect(await idsOf({ text: 'TOO_F' })).toEqual([first, second, third]);
  expect(await idsOf({ text: 'no photo' })).toEqual([]);
  expect(await idsOf({ text: second })).toEqual([second]);
  expect(await idsOf({ until: new Date(Date.now() - 3_600_000) })).toEqual([]);
  expect(await idsOf({ since: new Date(Date.now() - 3_600_000) })).toHaveLength(3);
  expect(await idsOf({ status: 'paid' })).toEqual([]);
});

test('the operator’s figures have payouts by status, and the record of an order its payout and receipts', async () => {
  const figures = async () => {
    const { payouts } = await storeOf(sql).readStats();
    return (payouts as Record<string, { count: number; cents: number }>).held ?? { count: 0, cents: 0 };
  };
  const before = await figures();
  const { orderId, driverId } = await delivered('handover_far');
  expect(await figures()).toEqual({ count: before.count + 1, cents: before.cents + 550 });
  const shown = await storeOf(sql).showOrder(orderId);
  expect(shown).toMatchObject({
    order: { payout_status: 'held' },
    payout: { driver_id: driverId, status: 'held', reasons: ['handover_far'], amount_cents: 550 },
  });
  const events = shown?.events as { type: string; receipt?: object }[];
  expect(events.at(-1)).toMatchObject({
    type: 'delivered',
    receipt: { distance_meters: 7_000, position_at: '1970-01-01T00:00:00.000Z', doubts: ['handover_far'] },
  });
  expect(events[0]).not.toHaveProperty('receipt');
  // A store is told what it was told before.
  const told = await storeOf(sql).findStoreOrder(orderId, store.retailerId);
  expect(JSON.stringify(told?.events)).not.toContain('7000');
});
