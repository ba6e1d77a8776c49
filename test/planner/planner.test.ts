import { describe, expect, it } from 'vitest';
import { PLANNER_NEAREST } from '../../src/limits.ts';
import { Planner } from '../../src/planner/planner.ts';
import type { Tell } from '../../src/planner/types.ts';
import { runs } from '../harness/counts.ts';
import { type DayDriver, type DayOrder, PlannedDay } from '../harness/planned-day.ts';
import { seeded } from '../harness/world.ts';
import { at, driver, MINUTE_MS, order, RULES } from './brute-force.ts';

const HOUR_MS = 60 * MINUTE_MS;
/** A random day has more orders than its few drivers can carry for hours, and yet none waits until its end. */
const LONGEST_MS = 6 * HOUR_MS;

function randomDay(seed: number, count = 120) {
  const random = seeded(seed);
  const somewhere = () => at(10_000 * random(), 10_000 * random());
  const stores = Array.from({ length: 6 }, somewhere);
  const orders = Array.from({ length: count }, (_, i): DayOrder => {
    const placedMs = Math.floor(5 * HOUR_MS * random());
    const readyMs = placedMs + Math.floor(30 * random()) * MINUTE_MS;
    const dueMs = placedMs + ([60, 120, 180][Math.floor(3 * random())] as number) * MINUTE_MS;
    const pickup = stores[Math.floor(stores.length * random())] as DayOrder['pickup'];
    return {
      ...order(`order-${i}`),
      doorFromMs: random() < 0.2 ? placedMs + Math.floor(150 * random()) * MINUTE_MS : undefined,
      pickup,
      dropoff: somewhere(),
      placedMs,
      readyMs,
      dueMs,
      room: random() < 0.1 ? 2 : 1,
    };
  });
  const drivers = Array.from({ length: 12 }, (_, i): DayDriver => {
    const onDutyMs = i < 4 ? 0 : Math.floor(2 * random()) * HOUR_MS;
    const offDutyMs = i < 4 ? Number.POSITIVE_INFINITY : onDutyMs + (2 + Math.floor(4 * random())) * HOUR_MS;
    const room = 1 + Math.floor(4 * random());
    return {
      id: `driver-${i}`,
      place: somewhere(),
      onDutyMs,
      offDutyMs,
      room: Math.max(2, room),
      metersPerMinute: 400,
    };
  });
  const tells: Tell[] = [];
  const onTell = (tell: Tell) => tells.push(tell);
  const day = new PlannedDay({
    orders,
    drivers,
    rules: RULES,
    everyMs: MINUTE_MS,
    waits: true,
    onTell,
  });
  day.run(0, 12 * HOUR_MS);
  return { day, orders, drivers: new Map(drivers.map((each) => [each.id, each])), tells };
}

describe('over random days', () => {
  const days = new Map<number, ReturnType<typeof randomDay>>();
  const dayOf = (seed: number) => {
    const day = days.get(seed) ?? randomDay(seed);
    days.set(seed, day);
    return day;
  };
  const seeds = Array.from({ length: runs(1, 5) }, (_, i) => i + 1);

  it.each(seeds)('nobody exceeds room or shift, and every order is delivered once, seed %i', (seed) => {
    const { day, orders, drivers } = dayOf(seed);
    const loads = new Map<string, number>();
    const pickedUp = new Map<string, { by: string; atMs: number }>();
    const delivered = new Set<string>();
    for (const { kind, driverId, order: each, leftMs, atMs } of day.deeds) {
      expect(atMs).toBeGreaterThanOrEqual(leftMs - RULES.pickupAfterMs);
      if (!each) continue;
      const who = drivers.get(driverId) as DayDriver;
      const load = (loads.get(driverId) ?? 0) + (kind === 'pickup' ? each.room : -each.room);
      loads.set(driverId, load);
      expect(load).toBeLessThanOrEqual(who.room);
      if (kind === 'pickup') {
        expect(atMs).toBeGreaterThanOrEqual(each.readyMs);
        expect(pickedUp.has(each.id)).toBe(false);
        pickedUp.set(each.id, { by: driverId, atMs });
      } else {
        expect(pickedUp.get(each.id)?.by).toBe(driverId);
        expect(atMs).toBeGreaterThanOrEqual(each.doorFromMs ?? 0);
        expect(atMs + RULES.dropoffAfterMs).toBeLessThanOrEqual(who.offDutyMs);
        expect(atMs - Math.max(each.placedMs, each.doorFromMs ?? 0)).toBeLessThan(LONGEST_MS);
        expect(delivered.has(each.id)).toBe(false);
        delivered.add(each.id);
      }
    }
    expect(delivered.size).toBe(orders.length);
  });

  it('who was told of an order keeps it, and tells only add', () => {
    const { tells } = dayOf(1);
    const holders = new Map<string, string>();
    for (const { driverId, orders } of tells) {
      for (const { id } of orders) {
        expect(holders.has(id)).toBe(false);
        holders.set(id, driverId);
      }
    }
    expect(holders.size).toBe(120);
  });

  it('the same day has the same plan', () => {
    expect(randomDay(1).tells).toEqual(dayOf(1).tells);
  });
});

it('gives a driver with room a further stop only where the promise of the told one holds', () => {
  const told = order('told', { pickup: at(0, 0), dropoff: at(8_000, 0), dueMs: 40 * MINUTE_MS });
  const onTheWay = { pickup: at(4_000, 0), dropoff: at(6_000, 0) };
  const offTheWay = { pickup: at(4_000, 6_000), dropoff: at(6_000, 6_000) };
  for (const [places, isFirst] of [
    [onTheWay, true],
    [offTheWay, false],
  ] as const) {
    const planner = new Planner(RULES);
    planner.putDriver(driver('driver', { told: [{ kind: 'dropoff', order: told }], isPickingUp: true }), 0);
    planner.putOrder(order('fresh', { ...places, weight: 100 }), 0);
    const tells = planner.due(0, MINUTE_MS);
    if (!isFirst) {
      expect(tells).toEqual([]);
      continue;
    }
    expect(tells[0]?.stops.map(({ kind, order: { id } }) => `${kind} ${id}`)).toEqual([
      'pickup fresh',
      'dropoff fresh',
      'dropoff told',
    ]);
  }
});

describe('telling', () => {
  it('waits until the driver would be late for the parcel, and then says why', () => {
    const planner = new Planner(RULES);
    planner.putDriver(driver('near', { place: at(1_600, 0) }), 0);
    planner.putDriver(driver('far', { place: at(9_000, 0) }), 0);
    planner.putOrder(order('order', { readyMs: 30 * MINUTE_MS }), 0);
    const leaveMs = 30 * MINUTE_MS - 2 * MINUTE_MS - (1_600 * 1.35 * MINUTE_MS) / 400;
    expect(planner.due(leaveMs - MINUTE_MS, leaveMs)).toEqual([]);
    const [tell] = planner.due(leaveMs - MINUTE_MS + 1_000, leaveMs + 1_000);
    expect(tell?.driverId).toBe('near');
    const [reasons] = tell?.orders ?? [];
    expect(reasons?.id).toBe('order');
    expect(reasons?.nextBest.map(({ driverId }) => driverId)).toEqual(['far']);
    expect(reasons?.nextBest[0]?.cost).toBeGreaterThan(reasons?.cost as number);
  });

  it.each([
    { what: 'the pickup', staysInShift: false, offDutyMs: 10 * MINUTE_MS },
    // 4 min at the store, 10:07.5 min of way, 4 min at the door.
    { what: 'the handover', staysInShift: true, offDutyMs: 8 * MINUTE_MS + 18 * MINUTE_MS + 8_000 },
  ])('says nothing once the shift ends before $what', ({ staysInShift, offDutyMs }) => {
    const planner = new Planner({ ...RULES, staysInShift });
    planner.putDriver(driver('driver', { offDutyMs }), 0);
    planner.putOrder(order('order'), 0);
    expect(planner.due(8 * MINUTE_MS, 9 * MINUTE_MS)).toHaveLength(1);
    expect(planner.due(9 * MINUTE_MS, 10 * MINUTE_MS)).toEqual([]);
  });

  it('waits before the pickup for the window of the door, and no handover is before it', () => {
    const planner = new Planner(RULES);
    planner.putDriver(driver('driver', { place: at(1_600, 0) }), 0);
    const doorFromMs = 120 * MINUTE_MS;
    planner.putOrder(order('later', { doorFromMs, dueMs: 180 * MINUTE_MS }), 0);
    const way = (meters: number) => (meters * 1.35 * MINUTE_MS) / 400;
    const pickupMs = doorFromMs - MINUTE_MS - way(3_000) - RULES.pickupAfterMs;
    const leaveMs = pickupMs - RULES.pickupBeforeMs - way(1_600);
    const estimate = planner.estimate('later');
    expect(estimate && 'doorMs' in estimate && [estimate.pickupMs, estimate.doorMs]).toEqual([
      expect.closeTo(pickupMs, -1),
      expect.closeTo(doorFromMs, -1),
    ]);
    expect(planner.due(leaveMs - 2_000, leaveMs - 1_000)).toEqual([]);
    expect(planner.due(leaveMs - 1_000, leaveMs + 1_000)).toHaveLength(1);
    // One more that is ready now goes first, and the driver comes back in time.
    planner.putOrder(order('now', { readyMs: leaveMs / 2 }), leaveMs / 2);
    planner.begin(leaveMs / 2);
    while (planner.step());
    const [tell] = planner.due(leaveMs / 2, leaveMs / 2 + MINUTE_MS);
    expect(tell?.orders.map(({ id }) => id)).toEqual(['now']);
  });

  it('tells a driver with nothing else to do sooner by the head start', () => {
    const headStartMs = 5 * MINUTE_MS;
    const planner = new Planner({ ...RULES, headStartMs });
    planner.putDriver(driver('driver', { place: at(1_600, 0) }), 0);
    planner.putOrder(order('one', { readyMs: 30 * MINUTE_MS }), 0);
    const leaveMs = 30 * MINUTE_MS - RULES.pickupBeforeMs - (1_600 * 1.35 * MINUTE_MS) / 400;
    const isDue = (atMs: number) => planner.due(atMs, atMs + 1_000).length > 0;
    expect([isDue(leaveMs - headStartMs - 2_000), isDue(leaveMs - headStartMs)]).toEqual([false, true]);
    planner.putOrder(order('two', { readyMs: 40 * MINUTE_MS, pickup: at(2_000, 0), dueMs: 150 * MINUTE_MS }), 0);
    expect([isDue(leaveMs - headStartMs), isDue(leaveMs)]).toEqual([false, true]);
  });

  it('leaves what is planned for later behind what the driver was told', () => {
    const planner = new Planner(RULES);
    const there = driver('driver', { room: 1 });
    planner.putDriver(there, 0);
    planner.putOrder(order('first', { dueMs: 8 * HOUR_MS }), 0);
    planner.putOrder(order('second', { pickup: at(3_000, 0), dropoff: at(6_000, 0) }), 0);
    const meant = ['pickup first', 'dropoff first', 'pickup second', 'dropoff second'];
    const planned = () => planner.stopsOf('driver').map(({ kind, order: { id } }) => `${kind} ${id}`);
    expect(planned()).toEqual(meant);
    const [tell] = planner.due(0, 1_000);
    planner.putDriver({ ...there, told: tell?.stops ?? [] }, 0);
    expect(planned()).toEqual(meant);
    expect(planner.due(0, 1_000)).toEqual([]);
  });

  it('gathers the parcels of a store that are meant for one driver', () => {
    const planner = new Planner(RULES);
    planner.putDriver(driver('driver'), 0);
    for (const id of ['a', 'b', 'c']) planner.putOrder(order(id), 0);
    const [tell, ...others] = planner.due(0, 1_000);
    expect(others).toEqual([]);
    expect(tell?.orders.map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'c']);
  });

  it('never asks a driver who may not carry the order', () => {
    const planner = new Planner({ ...RULES, mayCarry: (driverId) => driverId !== 'near' });
    planner.putDriver(driver('near'), 0);
    planner.putDriver(driver('far', { place: at(9_000, 0) }), 0);
    planner.putOrder(order('order'), 0);
    planner.begin(0);
    while (planner.step());
    expect(planner.due(0, 1_000).map(({ driverId }) => driverId)).toEqual(['far']);
  });

  it.each([
    { who: 'are idle', told: undefined },
    { who: 'have enough to do', told: order('told', { pickup: at(0, 500), dropoff: at(4_000, 500) }) },
  ])('passes over near drivers, however many, who go home too soon and $who', ({ told }) => {
    const planner = new Planner(RULES);
    // The parcel alone takes them 18:08 min, and what they were told 23:11 min.
    const offDutyMs = (told ? 30 : 18) * MINUTE_MS;
    const stops = told ? (['pickup', 'dropoff'] as const).map((kind) => ({ kind, order: told })) : [];
    for (let i = 0; i <= PLANNER_NEAREST; i++) planner.putDriver(driver(`near-${i}`, { offDutyMs, told: stops }), 0);
    planner.putDriver(driver('far', { place: at(20_000, 0) }), 0);
    planner.putOrder(order('order'), 0);
    expect(planner.estimate('order')).toMatchObject({ driverId: 'far' });
  });
});

describe('an open order', () => {
  it('goes to another driver when its own leaves, and away when it is dropped', () => {
    const planner = new Planner(RULES);
    planner.putDriver(driver('near'), 0);
    planner.putDriver(driver('far', { place: at(9_000, 0) }), 0);
    planner.putOrder(order('order'), 0);
    planner.dropDriver('near', 0);
    expect(planner.estimate('order')).toMatchObject({ driverId: 'far' });
    planner.dropOrder('order', 0);
    expect(planner.estimate('order')).toBeUndefined();
    expect(planner.due(HOUR_MS, 2 * HOUR_MS)).toEqual([]);
  });

  it.each([
    { what: 'within its store’s share', countsFromMs: undefined, first: 'near' },
    { what: 'beyond it', countsFromMs: 2 * HOUR_MS, first: 'far' },
  ])('that is near goes first where it is $what: $first', ({ countsFromMs, first }) => {
    const planner = new Planner({ ...RULES, driverCost: 0 });
    planner.putDriver(driver('driver', { room: 1 }), 0);
    planner.putOrder(
      order('near', { dropoff: at(1_000, 0), countsFromMs, dueMs: (countsFromMs ?? 0) + 4 * HOUR_MS }),
      0,
    );
    planner.putOrder(order('far', { dropoff: at(5_000, 0), dueMs: 4 * HOUR_MS }), 0);
    planner.begin(0);
    while (planner.step());
    expect(planner.stopsOf('driver')[0]?.order.id).toBe(first);
  });

  it('is delivered although nearer orders of more than the drivers can carry never end', () => {
    const near = Array.from({ length: 60 }, (_, i): DayOrder => {
      const placedMs = 15 * i * MINUTE_MS;
      return order(`near-${i}`, { placedMs, readyMs: placedMs, dueMs: placedMs + 20 * MINUTE_MS });
    });
    const far = order('far', { pickup: at(20_000, 0), dropoff: at(26_000, 0), placedMs: HOUR_MS, readyMs: HOUR_MS });
    const drivers = [{ ...driver('driver', { room: 1 }) }];
    const day = new PlannedDay({ orders: [...near, far], drivers, rules: RULES, everyMs: 2 * MINUTE_MS });
    day.run(0, 14 * HOUR_MS);
    const waitedMs = (day.toldMs.get('far') ?? Number.POSITIVE_INFINITY) - far.placedMs;
    expect(waitedMs).toBeLessThan(8 * HOUR_MS);
  });
});

describe('idle drivers', () => {
  it('are asked to wait where orders come from', () => {
    const planner = new Planner(RULES);
    for (let i = 0; i < 20; i++) {
      planner.putOrder(order(`order-${i}`, { pickup: at(2_000, 0) }), 0);
      planner.dropOrder(`order-${i}`, 0);
    }
    planner.putDriver(driver('idle'), 0);
    expect(planner.waits(0)).toEqual([{ driverId: 'idle', place: at(2_000, 0) }]);
  });
});
