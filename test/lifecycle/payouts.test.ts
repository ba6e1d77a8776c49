import { describe, expect, it } from 'vitest';
import type { ActionOutcome } from '../../src/dispatch/driver-actions.ts';
import { newId } from '../../src/domain/ids.ts';
import type { HandoverPhoto } from '../../src/domain/payout.ts';
import type { Point } from '../../src/geo/point.ts';
import { ZIP_ACCURACY_METERS } from '../../src/limits.ts';
import { displaced } from '../geo/places.ts';
import { UNSTAMPED } from '../harness/orders.ts';
import { database, dispatch, readEverything, retailerId, store, useDispatchWorld } from './dispatch-world.ts';
import { addDriverOnDuty, addOrder, STORE_POINT } from './orders.ts';

useDispatchWorld();

const PHOTO = { name: `${'0'.repeat(32)}.jpg`, isBlank: false };
const DOOR = displaced(STORE_POINT, 6_000, 0);
const MINUTE = 60_000;

/** A paid order that was assigned some minutes ago to a driver at the store. */
async function assigned(minutesAgo: number, { line1 = '1 First St', zip = '10001', accuracyMeters = 20 } = {}) {
  const { sql } = database;
  const driverId = await addDriverOnDuty(sql);
  const orderId = await addOrder(sql, retailerId, 'pending_dispatch', null);
  const addressId = newId();
  await sql`
    insert into dropoff_addresses (id, line1, city, state, zip, lat, lng, accuracy_meters, point_source)
    values (${addressId}, ${line1}, 'New York', 'NY', ${zip}, ${DOOR.lat}, ${DOOR.lng}, ${accuracyMeters}, 'geocoder')`;
  await sql`
    update orders set dropoff_address_id = ${addressId}, pickup_address = '20 Test Square, New York, NY 10003'
    where id = ${orderId}`;
  await store.assignWaiting(orderId, { driverId, shownMeters: 1_500 });
  await sql`
    update orders set payment_status = 'paid', assigned_at = now() - make_interval(mins => ${minutesAgo})
    where id = ${orderId}`;
  await readEverything();
  const action = (capturedAt: Date | null = null) => ({ orderId, driverId, stamp: { ...UNSTAMPED, capturedAt } });
  /** The phone says where it is, if it does, before each step. No step is refused. */
  async function step(point: Point | null, act: () => Promise<ActionOutcome>): Promise<void> {
    if (point) expect(dispatch.positions.report(driverId, point)).toBe('taken');
    expect(await act()).toMatchObject({ kind: 'done' });
  }
  return {
    orderId,
    pickUp: (point: Point | null) => step(point, () => dispatch.actions.pickUp(action())),
    deliver: (point: Point | null, capturedAt?: Date, photo: HandoverPhoto | null = PHOTO) =>
      step(point, () => dispatch.actions.deliver(action(capturedAt), photo)),
    fail: (point: Point | null) => step(point, () => dispatch.actions.undeliverable(action(), 'nobody_home')),
    bringBack: (point: Point | null) => step(point, () => dispatch.actions.returned(action())),
    /** What the customer and the store see, and what the driver gets. */
    async outcome() {
      const [row] = await sql`
        select o.status, p.status as payout, p.reasons from orders o left join payouts p on p.order_id = o.id
        where o.id = ${orderId}`;
      return { ...row };
    },
  };
}

describe('the payout of a delivery that happened', () => {
  it('is owed', async () => {
    const order = await assigned(20);
    await order.pickUp(STORE_POINT);
    await order.deliver(DOOR);
    expect(await order.outcome()).toEqual({ status: 'delivered', payout: 'owed', reasons: [] });
  });
});

describe('what did not happen counts for the customer, and its payout is held', () => {
  it('if the steps follow each other at once', async () => {
    const order = await assigned(0);
    await order.pickUp(null);
    await order.fail(null);
    await order.bringBack(null);
    const reasons = ['handover_far', 'too_fast'];
    expect(await order.outcome()).toEqual({ status: 'returned', payout: 'held', reasons });
  });

  it('if the handover is far from the door, whatever the phone says of its time', async () => {
    for (const capturedAt of [undefined, new Date(Date.now() - 10 * MINUTE), new Date('1990-01-01')]) {
      const order = await assigned(20);
      await order.pickUp(STORE_POINT);
      await order.deliver(null, capturedAt);
      expect(await order.outcome()).toMatchObject({ status: 'delivered', payout: 'held' });
      expect((await order.outcome()).reasons).toContain('handover_far');
    }
  });
});

describe('the payout of a driver who does not leave the store', () => {
  const BY_ZIP = { accuracyMeters: ZIP_ACCURACY_METERS };

  it('is held if the picture shows nothing, wherever they are', async () => {
    const [there, here] = [await assigned(20), await assigned(20, BY_ZIP)];
    for (const [order, point] of [[there, DOOR] as const, [here, STORE_POINT] as const]) {
      await order.pickUp(STORE_POINT);
      await order.deliver(point, undefined, { ...PHOTO, isBlank: true });
    }
    expect(await there.outcome()).toEqual({ status: 'delivered', payout: 'held', reasons: ['blank_photo'] });
    const reasons = ['at_pickup', 'blank_photo'];
    expect(await here.outcome()).toEqual({ status: 'delivered', payout: 'held', reasons });
  });

  it('is held if their camera is broken, and the order has no photo', async () => {
    const order = await assigned(20);
    await order.pickUp(STORE_POINT);
    await order.deliver(DOOR, undefined, null);
    expect(await order.outcome()).toEqual({ status: 'delivered', payout: 'held', reasons: ['no_photo'] });
    // Its store is told of a delivery, and of no photo.
    const told = await database.sql`
      select type from unnumbered_events where order_id = ${order.orderId} union all
      select type from store_events where order_id = ${order.orderId}`;
    expect(told.map(({ type }) => type)).toContain('order.delivered');
    expect(told.map(({ type }) => type)).not.toContain('order.proof_available');
  });

  it('is held if the store is somewhere else than its point', async () => {
    const order = await assigned(20, BY_ZIP);
    const truly = displaced(STORE_POINT, 0, 1_500);
    await order.pickUp(truly);
    await order.deliver(displaced(truly, 100, 0));
    expect(await order.outcome()).toEqual({ status: 'delivered', payout: 'held', reasons: ['at_pickup'] });
  });

  it.each([
    ['has the address of the store', '20 Test Square'],
    ['is a few houses away', '48 Test Square'],
  ])('is owed if the door %s', async (_what, line1) => {
    const order = await assigned(20, { ...BY_ZIP, line1, zip: '10003' });
    await order.pickUp(STORE_POINT);
    await order.deliver(null);
    expect(await order.outcome()).toEqual({ status: 'delivered', payout: 'owed', reasons: [] });
  });
});

describe('a time that cannot be', () => {
  it('is marked for the operator, and the distance is that at the receipt', async () => {
    const order = await assigned(20);
    await order.pickUp(STORE_POINT);
    await order.deliver(displaced(DOOR, 0, 500), new Date('1990-01-01'));
    expect(await order.outcome()).toMatchObject({ payout: 'held', reasons: ['implausible_time'] });
    const [row] = await database.sql`
      select o.proof_distance_meters, e.data, e.receipt from orders o join order_events e on e.order_id = o.id
      where o.id = ${order.orderId} and e.type = 'delivered'`;
    expect(row).toMatchObject({
      proof_distance_meters: 500,
      data: { captured_at: '1990-01-01T00:00:00.000Z', proof_distance_meters: 500 },
      receipt: { distance_meters: 500, captured_at_implausible: true, doubts: ['implausible_time'] },
    });
  });
});
