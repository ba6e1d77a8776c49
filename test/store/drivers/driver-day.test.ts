import { expect, test } from 'vitest';
import { newId } from '../../../src/domain/ids.ts';
import type { Doubt, Receipt } from '../../../src/domain/payout.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { reading } from '../transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;
const store = await addStoreRow(sql);

const NOTHING = { deliveries: 0, returns: 0, earningsCents: 0, heldCents: 0 };
const stamp = () => ({ actionId: newId(), capturedAt: null });
const receiptOf = (...doubts: Doubt[]): Receipt => ({
  distanceMeters: 5,
  positionAt: new Date(0),
  stampIsPlausible: true,
  doubts,
  proof: null,
  pickedUpAt: null,
});

const now = new Date();
/** How far a clock that shows noon is ahead of UTC: its day does not end while the tests run. */
const NOON = 12 * 60 - now.getUTCHours() * 60 - now.getUTCMinutes();

/** Brings an order to its end; its payout is 600 cents, held as the order is not paid. */
async function bring(driverId: string, isReturned = false): Promise<string> {
  const tables = storeOf(sql, 'me');
  const { orderId } = await addOrder(sql, store, { driverId });
  await tables.pickUpOrder(orderId, driverId, stamp());
  if (isReturned) {
    await tables.markUndeliverable(orderId, driverId, 'nobody_home', stamp());
    await tables.returnOrder(orderId, driverId, stamp(), receiptOf());
  } else await tables.deliverOrder(orderId, driverId, 'p.jpg', stamp(), receiptOf());
  return orderId;
}

test('a driver’s day has what they delivered and brought back, and what both earn', async () => {
  const [driverId, other] = [await addDriverRow(sql), await addDriverRow(sql)];
  const day = () => storeOf(sql).findDriverDay(driverId, NOON);
  expect(await day()).toEqual(NOTHING);
  const orders = [await bring(driverId), await bring(driverId), await bring(driverId, true)];
  await bring(other);
  const [{ cents = 0 } = {}] = await sql`select amount_cents as cents from payouts where order_id = ${orders[0] ?? ''}`;
  expect(cents).toBeGreaterThan(0);
  expect(await day()).toEqual({ deliveries: 2, returns: 1, earningsCents: 3 * cents, heldCents: 3 * cents });
  // The operator releases one and refuses another.
  await storeOf(sql).settlePayout(orders[0] ?? '', 'owed', null);
  await storeOf(sql).settlePayout(orders[1] ?? '', 'void', null);
  expect(await day()).toEqual({ deliveries: 2, returns: 1, earningsCents: 2 * cents, heldCents: cents });
});

test('a day begins at the driver’s midnight', async () => {
  const driverId = await addDriverRow(sql);
  const orderId = await bring(driverId);
  const countAt = async (minutesAgo: number, utcOffsetMinutes: number) => {
    await sql`
      update driver_actions set received_at = now() - make_interval(mins => ${minutesAgo}) where order_id = ${orderId}`;
    return (await storeOf(sql).findDriverDay(driverId, utcOffsetMinutes)).deliveries;
  };
  const [{ past = 0 } = {}] = await sql`
    select extract(epoch from now() at time zone 'UTC' - date_trunc('day', now() at time zone 'UTC'))::int / 60 as past`;
  // Minutes since midnight in UTC; a clock that is ahead by an hour has an hour more of today.
  for (const ahead of [-840, -300, 0, 345, 840]) {
    const today = (past + ahead + 2 * 1_440) % 1_440;
    if (today < 2 || today > 1_437) continue;
    expect(await countAt(today - 1, ahead), `${ahead}`).toBe(1);
    expect(await countAt(today + 2, ahead), `${ahead}`).toBe(0);
  }
});

test('a day is read without the actions of other drivers', async () => {
  const driverId = await addDriverRow(sql);
  await bring(driverId);
  await sql`
    insert into driver_actions (driver_id, action_id, order_id, type, status, sequence)
    select gen_random_uuid(), n::text, gen_random_uuid(), 'delivered', 'delivered', 4 from generate_series(1, 20000) n`;
  await sql`insert into payouts (order_id, driver_id, amount_cents, status)
    select gen_random_uuid(), gen_random_uuid(), 600, 'owed' from generate_series(1, 20000)`;
  await sql`analyze driver_actions, payouts`;
  const tables = ['driver_actions', 'payouts'];
  const { result, wholeReads } = await reading(database, tables, (s) => s.findDriverDay(driverId, NOON));
  expect([result.deliveries, wholeReads]).toEqual([1, 0]);
});
