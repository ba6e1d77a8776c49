import { beforeEach, describe, expect, it } from 'vitest';
import { OUTAGE_MS, SILENT_LOOK_MS } from '../../src/dispatch/sweep.ts';
import { DRIVER_SILENT_MS } from '../../src/limits.ts';
import { UNSTAMPED } from '../harness/orders.ts';
import { orderOf } from '../matcher/carrying.ts';
import {
  carrying,
  database,
  dispatch,
  matcher,
  readEverything,
  retailerId,
  startDispatch,
  store,
  sweepForLong,
  useDispatchWorld,
} from './dispatch-world.ts';
import { addDriverOnDuty, addOrder, everythingOf, STORE_POINT } from './orders.ts';

useDispatchWorld();

/** By the table, since memory is marked before the write. */
const carrierOf = async (orderId: string) => (await everythingOf(database.sql, orderId)).order.driver_id;

describe('an order that was released', () => {
  const release = (orderId: string, driverId: string) =>
    dispatch.actions.release({ orderId, driverId, stamp: UNSTAMPED }, 'vehicle');

  it('is not offered to the same driver again, who takes another order', async () => {
    const { orderId, driverId } = await carrying('driver_assigned');
    await readEverything();
    await release(orderId, driverId);
    await expect.poll(() => matcher.isWaiting(orderId)).toBe(true);
    expect(matcher.bestDriverFor(orderId, Date.now())).toBeUndefined();
    expect(matcher.bestWaitingFor(driverId, Date.now())).toBeUndefined();
    expect(matcher.whyWaiting(orderId)).toBe('given_back');
    expect(await store.assignWaiting(orderId, { driverId, shownMeters: 1 })).toEqual({
      kind: 'driver_lost',
    });
    const other = await addOrder(database.sql, retailerId, 'pending_dispatch', null);
    await dispatch.redispatch.requeue(other);
    expect(await everythingOf(database.sql, other)).toMatchObject({ order: { driver_id: driverId } });
    expect(await everythingOf(database.sql, orderId)).toMatchObject({ order: { status: 'pending_dispatch' } });
  });

  it('goes to the next driver at once, with the reason on record', async () => {
    const { orderId, driverId } = await carrying('driver_assigned');
    const next = await addDriverOnDuty(database.sql);
    await readEverything();
    await release(orderId, driverId);
    await expect.poll(() => carrierOf(orderId)).toBe(next);
    const { order, events } = await everythingOf(database.sql, orderId);
    expect(order).toMatchObject({ status: 'driver_assigned', driver_id: next, sequence: 3 });
    expect(events[1]).toMatchObject({ type: 'released', data: { driver_id: driverId, reason: 'vehicle' } });
    expect(events[2]).toMatchObject({ type: 'driver_assigned', data: { driver_id: next } });
    expect(orderOf(matcher.driver(driverId))).toBeNull();
  });

  it('is neither charged nor texted again', async () => {
    for (const payment of ['processing', 'paid', 'failed'] as const) {
      const driverId = await addDriverOnDuty(database.sql);
      const orderId = await addOrder(database.sql, retailerId, 'driver_assigned', driverId, { payment });
      // Its first assignment wrote the only job of a charge.
      await database.sql`
        insert into outbox (queue, order_id, retailer_id, lease_until) values ('charge', ${orderId}, ${retailerId}, now())`;
      const next = await addDriverOnDuty(database.sql);
      await readEverything();
      await release(orderId, driverId);
      await expect.poll(() => carrierOf(orderId)).toBe(next);
      const { order, jobs } = await everythingOf(database.sql, orderId);
      expect(order.payment_status).toBe(payment);
      expect(jobs.filter(({ queue }) => queue === 'charge' || queue === 'sms')).toEqual([
        { queue: 'charge', done: false },
      ]);
      await database.sql`update drivers set on_duty = false`;
    }
  });

  it('waits for at least an hour before it expires', async () => {
    const { orderId, driverId } = await carrying('driver_assigned');
    await database.sql`update orders set expires_at = now() + interval '1 minute' where id = ${orderId}`;
    await release(orderId, driverId);
    const [row] = await database.sql`
      select expires_at - now() > interval '59 minutes' as later,
        (select run_at = expires_at from outbox where order_id = orders.id and queue = 'redispatch') as owed
      from orders where id = ${orderId}`;
    expect(row).toMatchObject({ later: true, owed: true });
  });
});

describe('a driver who falls silent', () => {
  async function silence(driverId: string, ms: number): Promise<void> {
    const seconds = ms / 1000;
    await database.sql`
      update driver_positions set received_at = now() - make_interval(secs => ${seconds}),
        captured_at = now() - make_interval(secs => ${seconds}) where driver_id = ${driverId}`;
    await database.sql`
      update orders set assigned_at = now() - make_interval(secs => ${seconds}) where driver_id = ${driverId}`;
  }
  const SILENT_FOR = DRIVER_SILENT_MS + 1_000;
  beforeEach(sweepForLong);

  it('loses an order before its pickup to another driver, with the reason on record', async () => {
    const { orderId, driverId } = await carrying('driver_assigned');
    await silence(driverId, SILENT_FOR);
    const next = await addDriverOnDuty(database.sql, STORE_POINT);
    await readEverything();
    await dispatch.sweep.run();
    const { order, events } = await everythingOf(database.sql, orderId);
    expect(order).toMatchObject({ status: 'driver_assigned', driver_id: next, excluded_driver_ids: [] });
    expect(events[1]).toEqual({
      sequence: 2,
      type: 'released',
      data: { driver_id: driverId, reason: 'driver_silent' },
    });
    expect(orderOf(matcher.driver(driverId))).toBeNull();
    expect(await dispatch.actions.pickUp({ orderId, driverId, stamp: UNSTAMPED })).toEqual({ kind: 'not_found' });
  });

  it('keeps it until this process has swept for as long, and again as long after an outage of the tables', async () => {
    const { orderId, driverId } = await carrying('driver_assigned');
    await silence(driverId, SILENT_FOR);
    let isAway = false;
    const tables: typeof store = {
      ...store,
      async findSilent(...args) {
        if (isAway) throw new Error('away');
        return store.findSilent(...args);
      },
    };
    let nowMs = Date.now();
    const { dispatch: fresh } = await startDispatch(tables, 0, () => nowMs);
    await fresh.fleet.rebuild();
    const driversAfter = async (ms: number) => {
      for (const endMs = nowMs + ms; nowMs < endMs; nowMs += OUTAGE_MS) await fresh.sweep.run().catch(() => undefined);
      return carrierOf(orderId);
    };
    expect(await driversAfter(DRIVER_SILENT_MS)).toBe(driverId);
    isAway = true;
    expect(await driversAfter(2 * OUTAGE_MS)).toBe(driverId);
    isAway = false;
    expect(await driversAfter(DRIVER_SILENT_MS)).toBe(driverId);
    expect(await driversAfter(2 * OUTAGE_MS)).toBeNull();
  });

  it('keeps it while they report to memory, though the tables take no positions', async () => {
    const { orderId, driverId } = await carrying('driver_assigned');
    await silence(driverId, SILENT_FOR);
    await readEverything();
    matcher.moveDriver(driverId, STORE_POINT, Date.now());
    await dispatch.sweep.run();
    expect((await everythingOf(database.sql, orderId)).order).toMatchObject({ driver_id: driverId, sequence: 1 });
  });

  it('keeps it up to the bound', async () => {
    const { orderId, driverId } = await carrying('driver_assigned');
    await silence(driverId, DRIVER_SILENT_MS - 30_000);
    await readEverything();
    await dispatch.sweep.run();
    expect((await everythingOf(database.sql, orderId)).order).toMatchObject({ driver_id: driverId, sequence: 1 });
  });

  it('keeps it if it was assigned only now, however old their position is', async () => {
    const { orderId, driverId } = await carrying('driver_assigned');
    await silence(driverId, SILENT_FOR);
    await database.sql`update orders set assigned_at = now() where id = ${orderId}`;
    expect((await store.findSilent(DRIVER_SILENT_MS, 100)).map((found) => found.orderId)).not.toContain(orderId);
    // Nor is it taken by what another process decided before.
    expect(await store.releaseFromSilent(orderId, driverId, DRIVER_SILENT_MS)).toBeNull();
  });

  it('loses it also if they never reported a position', async () => {
    const { orderId, driverId } = await carrying('driver_assigned');
    await silence(driverId, SILENT_FOR);
    await database.sql`delete from driver_positions where driver_id = ${driverId}`;
    await readEverything();
    await dispatch.sweep.run();
    expect((await everythingOf(database.sql, orderId)).order.status).toBe('pending_dispatch');
  });

  it('loses it if they were deactivated just as it was assigned, also soon after a start', async () => {
    const { orderId, driverId } = await carrying('driver_assigned');
    let nowMs = Date.now();
    const { dispatch: fresh } = await startDispatch(store, 0, () => nowMs);
    await fresh.fleet.rebuild();
    // As by a statement that did not see the assignment, nor was seen by it.
    await database.sql`update drivers set active = false, on_duty = false where id = ${driverId}`;
    await fresh.fleet.refreshDrivers([driverId]);
    nowMs += SILENT_LOOK_MS;
    await fresh.sweep.run();
    expect((await everythingOf(database.sql, orderId)).order).toMatchObject({ status: 'pending_dispatch' });
  });

  it('finds one of a deactivated driver before those of silent ones, which are kept for a while after a start', async () => {
    const found: string[] = [];
    for (const isActive of [true, false, true]) {
      const { orderId, driverId } = await carrying('driver_assigned');
      found.push(orderId);
      await silence(driverId, SILENT_FOR);
      await database.sql`update drivers set active = ${isActive} where id = ${driverId}`;
    }
    expect((await store.findSilent(DRIVER_SILENT_MS, 1)).map(({ orderId }) => orderId)).toEqual([found[1]]);
  });

  it('keeps it if they report between the read and the release', async () => {
    const { orderId, driverId } = await carrying('driver_assigned');
    await silence(driverId, SILENT_FOR);
    expect(await store.findSilent(DRIVER_SILENT_MS, 100)).toContainEqual({ orderId, driverId, isGone: false });
    await database.sql`update driver_positions set received_at = now() where driver_id = ${driverId}`;
    expect(await store.releaseFromSilent(orderId, driverId, DRIVER_SILENT_MS)).toBeNull();
    expect((await everythingOf(database.sql, orderId)).order).toMatchObject({ driver_id: driverId, sequence: 1 });
  });

  it.each(['picked_up', 'undeliverable'] as const)('keeps an order that is %s', async (status) => {
    const { orderId, driverId } = await carrying(status);
    await silence(driverId, SILENT_FOR);
    await dispatch.sweep.run();
    expect(await store.releaseFromSilent(orderId, driverId, DRIVER_SILENT_MS)).toBeNull();
    expect((await everythingOf(database.sql, orderId)).order).toMatchObject({ status, driver_id: driverId });
  });

  it('loses it once, though two processes sweep at the same moment', async () => {
    const { orderId, driverId } = await carrying('driver_assigned');
    await silence(driverId, SILENT_FOR);
    const released = await Promise.all(
      Array.from({ length: 4 }, () => store.releaseFromSilent(orderId, driverId, DRIVER_SILENT_MS)),
    );
    expect(released.filter((change) => change !== null)).toHaveLength(1);
    expect((await everythingOf(database.sql, orderId)).events).toHaveLength(2);
  });
});
