import { describe, expect, test } from 'vitest';
import { newId, newTrackingToken } from '../../src/domain/ids.ts';
import { addStoreRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { useTablesBefore } from './tables-before.ts';

const { sql, migrate } = await useTablesBefore('0039');

/** An order whose charge is under way, or failed so many minutes ago. */
async function order(retailerId: string, status: string, failedMinutesAgo: number | null = null): Promise<string> {
  const id = newId();
  await sql`
    insert into orders (id, retailer_id, customer_id, dropoff_address_id, driver_id, status, delivery_tier, delivery_fee_cents,
      driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address, pickup_lat, pickup_lng,
      pickup_point_source, created_at, expires_at)
    values (${id}, ${retailerId}, ${newId()}, ${newId()}, ${status === 'delivered' ? newId() : null}, ${status}, 'standard', 799, 550,
      ${failedMinutesAgo === null ? 'processing' : 'failed'}, 'none', ${newTrackingToken()}, '', 0, 0, 'registered',
      now(), now())`;
  if (failedMinutesAgo !== null) {
    await sql`
      insert into payments (order_id, attempt, amount_cents, status, settled_at)
      values (${id}, 1, 799, 'declined', now() - make_interval(mins => ${failedMinutesAgo}))`;
  }
  return id;
}

/** As the build before writes it, which counts every failure. */
async function failAsBefore(orderId: string): Promise<void> {
  await sql`
    with changed as (
      update orders set payment_status = 'failed', sequence = sequence + 1 where id = ${orderId} returning retailer_id
    )
    update retailers r set unpaid_orders = r.unpaid_orders + 1, payment_failed_at = now()
    from changed where r.id = changed.retailer_id`;
}

const count = (retailerId: string, unpaid: number) =>
  sql`update retailers set unpaid_orders = ${unpaid}, payment_failed_at = now() where id = ${retailerId}`;
const creditOf = async (retailerId: string) => {
  const [row] = await sql`
    select unpaid_orders, unpaid_credit(id, 3) as credit from retailers where id = ${retailerId}`;
  return { unpaid: row?.unpaid_orders, credit: row?.credit };
};
const newStore = async () => (await addStoreRow(sql)).retailerId;

describe('stores that are unproven when the count becomes a list', () => {
  test('owe what they still owe', async () => {
    const [held, owing, mixed] = [await newStore(), await newStore(), await newStore()];
    const [renewed, paying] = [await newStore(), await newStore()];
    for (const status of ['cancelled', 'expired', 'cancelled']) await order(held, status, 5);
    await count(held, 3);
    for (let n = 0; n < 3; n++) await order(owing, 'delivered', n);
    await count(owing, 3);
    // The last three failures count: two are owed. The one before them was followed by a paid order.
    await order(mixed, 'delivered', 90);
    for (const status of ['delivered', 'cancelled', 'pending_dispatch']) await order(mixed, status, 5);
    await count(mixed, 3);
    await order(renewed, 'delivered', 5);
    await count(renewed, 0);
    await order(paying, 'delivered', 5);
    expect((await creditOf(held)).credit).toBe(0);

    await migrate();
    expect(await creditOf(held)).toEqual({ unpaid: 0, credit: 3 });
    expect(await creditOf(owing)).toEqual({ unpaid: 3, credit: 0 });
    expect(await creditOf(mixed)).toEqual({ unpaid: 2, credit: 1 });
    expect(await creditOf(renewed)).toEqual({ unpaid: 0, credit: 3 });
    expect(await creditOf(paying)).toEqual({ unpaid: 0, credit: null });
    expect((await sql`select order_id from unpaid_charges`).length).toBe(5);
  });
});

describe('the build before beside this one', () => {
  test('holds a store for what it owes alone, though it counts every failure', async () => {
    const retailerId = await newStore();
    for (let n = 0; n < 3; n++) await failAsBefore(await order(retailerId, 'cancelled'));
    expect(await creditOf(retailerId)).toEqual({ unpaid: 3, credit: 3 });
    for (let n = 0; n < 3; n++) await failAsBefore(await order(retailerId, 'delivered'));
    expect((await creditOf(retailerId)).credit).toBe(0);
    expect(await storeOf(sql).findAccount(retailerId)).toMatchObject({ unpaidOrders: 3 });
  });

  test('lets it go with a paid order, and with a new card', async () => {
    const [paid, renewed] = [await newStore(), await newStore()];
    for (const retailerId of [paid, renewed]) await failAsBefore(await order(retailerId, 'delivered'));
    await sql`update retailers set unpaid_orders = 0, payment_failed_at = null where id = ${paid}`;
    await sql`update retailers set unpaid_orders = 0, card_set_at = now() where id = ${renewed}`;
    for (const retailerId of [paid, renewed]) await failAsBefore(await order(retailerId, 'delivered'));
    expect([(await creditOf(paid)).credit, (await creditOf(renewed)).credit]).toEqual([2, 2]);
  });

  test('has a charge tried again, which counts once if it fails again', async () => {
    const retailerId = await newStore();
    const orderId = await order(retailerId, 'delivered');
    await failAsBefore(orderId);
    await sql`update orders set payment_status = 'processing' where id = ${orderId}`;
    await sql`update retailers set unpaid_orders = 0 where id = ${retailerId}`;
    expect((await creditOf(retailerId)).credit).toBe(3);
    await failAsBefore(orderId);
    expect((await creditOf(retailerId)).credit).toBe(2);
  });
});
