import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Point } from '../../src/geo/point.ts';
import { PLANNER_LOOK_MS } from '../../src/limits.ts';
import { PLANNER_PASS_MS } from '../../src/planning/planned-drivers.ts';
import { PLANNER_LEASE_MS } from '../../src/planning/planner-lease.ts';
import { LEAST_PLANNED_ORDERS } from '../../src/planning/planner-view.ts';
import { driver, MINUTE, NOW, order, PlannedWorld, pass, STORE, tiersOf } from '../dispatch/planned-world.ts';
import { carrying } from '../matcher/carrying.ts';

let world: PlannedWorld;
beforeEach(async () => {
  world = await PlannedWorld.open();
});
afterEach(() => world.close());

describe('the planner in the service', () => {
  it('gives what waits to a driver who comes on duty, at once', async () => {
    world.matcher.wait(order('o'));
    await pass(5 * MINUTE);
    expect(world.gave()).toEqual([]);
    world.matcher.putDriver(driver('d'));
    await pass(PLANNER_LOOK_MS);
    expect(world.gave()).toEqual(['o to d']);
    expect(world.matcher.holderOf('o')).toBe('d');
  });

  it('has a driver at the store when the parcel is ready, and not before', async () => {
    const away = { lat: STORE.lat + 0.03, lng: STORE.lng };
    world.matcher.putDriver(driver('d', { position: { ...away, atMs: NOW + 1_000 * MINUTE } }));
    world.matcher.wait(order('o', { readyAtMs: NOW + 60 * MINUTE, dueMs: NOW + 50 * MINUTE }));
    await pass(40 * MINUTE);
    expect(world.gave()).toEqual([]);
    await pass(20 * MINUTE);
    expect(world.gave()).toEqual(['o to d']);
    // 3.3 km of great circle are about 9 minutes by car, and 3 more are taken at the store.
    const minutesBefore = (NOW + 60 * MINUTE - (world.given[0]?.atMs ?? 0)) / MINUTE;
    expect(minutesBefore).toBeGreaterThan(9);
    expect(minutesBefore).toBeLessThan(16);
  });

  it('gives the next order to the driver who is there soonest, the busy one included', async () => {
    world.matcher.putDriver(driver('busy', { capacity: 1 }));
    world.matcher.wait(order('first'));
    await pass(PLANNER_LOOK_MS);
    expect(world.gave()).toEqual(['first to busy']);
    world.matcher.wait(order('next'));
    await pass(MINUTE);
    expect(world.gave()).toEqual(['first to busy']);
    expect(world.noted.at(-1)).toMatchObject({ orderId: 'next', driverId: 'busy' });
    world.matcher.release('busy', Date.now(), 'first');
    await pass(PLANNER_LOOK_MS);
    expect(world.gave()).toEqual(['first to busy', 'next to busy']);
  });

  it.each([
    [3, ['y to d']],
    [2, []],
  ])('tells a driver at a door, with room for %i, of the store that comes next', async (capacity, told) => {
    const kilometers = (north: number) => ({ lat: STORE.lat + north / 111.2, lng: STORE.lng });
    const parcel = (orderId: string, slot: number, dropoff: Point) =>
      carrying(orderId, { step: 'on_board', pickup: STORE, dropoff, slot, deliverByMs: NOW + 300 * MINUTE });
    const carried = [parcel('a', 0, kilometers(1)), parcel('b', 1, kilometers(5))];
    world.matcher.putDriver(
      driver('d', { capacity, carried, position: { ...kilometers(1), atMs: NOW + 1_000 * MINUTE } }),
    );
    world.matcher.wait(order('y', { retailerId: 'other', point: kilometers(2), dropoff: kilometers(4) }));
    await pass(MINUTE);
    expect([world.gave(), world.matcher.holderOf('y')]).toEqual([told, told.length > 0 ? 'd' : undefined]);
  });

  it('gives what is meant for a busy driver to one who comes on duty and is there sooner', async () => {
    world.matcher.putDriver(driver('busy', { capacity: 1 }));
    world.matcher.wait(order('first'));
    await pass(PLANNER_LOOK_MS);
    world.matcher.wait(order('next'));
    await pass(2 * PLANNER_LOOK_MS);
    expect(world.gave()).toEqual(['first to busy']);
    world.matcher.putDriver(driver('fresh'));
    await pass(2 * PLANNER_LOOK_MS);
    expect(world.gave()).toEqual(['first to busy', 'next to fresh']);
  });

  it('says what an order costs beside the next best drivers', async () => {
    world.matcher.wait(order('o'));
    world.matcher.putDriver(driver('near'));
    const far = { lat: STORE.lat + 0.02, lng: STORE.lng, atMs: NOW + 1_000 * MINUTE };
    world.matcher.putDriver(driver('far', { position: far }));
    await pass(PLANNER_LOOK_MS);
    expect(world.gave()).toEqual(['o to near']);
    const choice = world.given[0]?.choice;
    expect(choice?.nextBest).toEqual([{ driverId: 'far', cost: expect.any(Number) }]);
    expect(choice?.nextBest[0]?.cost).toBeGreaterThan(choice?.cost ?? Number.POSITIVE_INFINITY);
  });

  it('plans anew what could not be assigned, with whoever else there is', async () => {
    const refused = new Set(['near']);
    world.assign = (orderId, driverId) => {
      world.end(orderId, driverId, refused.has(driverId) ? 'driver_lost' : 'assigned');
    };
    world.matcher.wait(order('o'));
    world.matcher.putDriver(driver('near'));
    world.matcher.putDriver(driver('far', { position: { lat: STORE.lat + 0.02, lng: STORE.lng, atMs: NOW + MINUTE } }));
    await pass(PLANNER_LOOK_MS);
    expect(world.gave()).toEqual(['o to near', 'o to far']);
    expect(world.matcher.holderOf('o')).toBe('far');
  });

  it('forgets what was cancelled, and what is no more its to give', async () => {
    world.matcher.wait(order('cancelled'));
    world.matcher.wait(order('held', { retailerId: 'other' }));
    await pass(PLANNER_LOOK_MS);
    world.matcher.unwait('cancelled');
    world.matcher.setHold({ retailerId: 'other', reason: 'store_suspended', credit: 0 });
    world.matcher.putDriver(driver('d'));
    await pass(PLANNER_PASS_MS);
    expect(world.gave()).toEqual([]);
    world.matcher.endHold('other');
    await pass(PLANNER_LOOK_MS);
    expect(world.gave()).toEqual(['held to d']);
  });

  it('follows the mode of a tier, and gives nothing of one that is not planned', async () => {
    world.matcher.wait(order('o'));
    await pass(PLANNER_LOOK_MS);
    world.matcher.setTiers(tiersOf('nearest'));
    world.matcher.putDriver(driver('d'));
    await pass(PLANNER_PASS_MS);
    expect(world.gave()).toEqual([]);
    expect(world.matcher.bestWaitingFor('d', Date.now())?.orderId).toBe('o');
    world.matcher.setTiers(tiersOf('planned'));
    await pass(PLANNER_LOOK_MS);
    expect(world.gave()).toEqual(['o to d']);
  });

  it('leaves more orders than it has room for to whoever is free, and takes them back as there is room', async () => {
    const all = Array.from({ length: LEAST_PLANNED_ORDERS + 2 }, (_, n) => `o${n}`);
    for (const id of all) world.matcher.wait(order(id));
    await pass(PLANNER_LOOK_MS);
    const left = all.filter((id) => world.matcher.planned.open(id) === undefined);
    expect(left).toEqual([`o${LEAST_PLANNED_ORDERS}`, `o${LEAST_PLANNED_ORDERS + 1}`]);
    for (const id of all.slice(0, 10)) world.matcher.unwait(id);
    await pass(2 * PLANNER_PASS_MS);
    expect(left.map((id) => world.matcher.planned.open(id)?.orderId)).toEqual(left);
  });

  it.each([0, LEAST_PLANNED_ORDERS])('takes them back beside orders for later and %i of a held store', async (held) => {
    const later = LEAST_PLANNED_ORDERS - 10;
    for (let n = 0; n < later; n++) world.matcher.wait(order(`later${n}`, { dueMs: NOW + 90 * MINUTE }));
    for (let n = 0; n < held; n++) world.matcher.wait(order(`held${n}`, { retailerId: 'held' }));
    world.matcher.setHold({ retailerId: 'held', reason: 'payment_required', credit: 0 });
    await pass(PLANNER_PASS_MS);
    const all = Array.from({ length: 12 }, (_, n) => `o${n}`);
    for (const id of all) world.matcher.wait(order(id));
    await pass(PLANNER_LOOK_MS);
    expect(all.filter((id) => world.matcher.planned.open(id) === undefined)).toEqual(['o10', 'o11']);
    for (const id of all.slice(0, 2)) world.matcher.unwait(id);
    await pass(2 * PLANNER_PASS_MS);
    expect(world.matcher.planned.leftIds()).toEqual([]);
  });

  it('leaves nothing to whoever is free once another process plans', async () => {
    for (let n = 0; n <= LEAST_PLANNED_ORDERS; n++) world.matcher.wait(order(`o${n}`));
    await pass(PLANNER_LOOK_MS);
    expect(world.matcher.planned.leftIds()).toEqual([`o${LEAST_PLANNED_ORDERS}`]);
    world.epoch = null;
    await pass(PLANNER_LEASE_MS);
    expect(world.matcher.planned.leftIds()).toEqual([]);
  });

  it('plans each order of another store in place of the last one of a store that floods it', async () => {
    const flood = Array.from({ length: LEAST_PLANNED_ORDERS }, (_, n) => `o${n}`);
    for (const [n, id] of flood.entries()) world.matcher.wait(order(id, { fairStartMs: NOW + n * MINUTE }));
    await pass(PLANNER_LOOK_MS);
    for (const id of ['theirs', 'theirs too']) {
      world.matcher.wait(order(id, { retailerId: 'other' }));
      await pass(PLANNER_LOOK_MS);
      expect(world.matcher.planned.open(id)).toBeDefined();
    }
    const left = flood.filter((id) => world.matcher.planned.open(id) === undefined);
    expect(left).toEqual(flood.slice(-2));
  });

  it('tells nothing while another process has the right to plan', async () => {
    world.epoch = null;
    await pass(PLANNER_LEASE_MS);
    world.matcher.wait(order('o'));
    world.matcher.putDriver(driver('d'));
    await pass(MINUTE);
    expect([world.gave(), world.loop.nextLook('d')]).toEqual([[], null]);
    world.epoch = 3;
    await pass(PLANNER_LEASE_MS);
    expect(world.gave()).toEqual(['o to d']);
    expect(world.given[0]?.choice.lease.epoch).toBe(3);
  });

  it('stops at the first command that is refused, and plans anew with the next right', async () => {
    world.assign = () => undefined;
    world.matcher.wait(order('o'));
    await pass(PLANNER_LOOK_MS);
    world.epoch = 2;
    world.matcher.putDriver(driver('d'));
    await pass(50);
    expect(world.given.map(({ choice }) => choice.lease.epoch)).toEqual([1]);
    await pass(PLANNER_LEASE_MS);
    expect(world.given.at(-1)?.choice.lease.epoch).toBe(2);
  });
});
