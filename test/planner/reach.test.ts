import { describe, expect, it, vi } from 'vitest';
import { distanceMeters } from '../../src/geo/point.ts';
import { Planner } from '../../src/planner/planner.ts';
import type { OpenOrder, PlannedDriver, Rules } from '../../src/planner/types.ts';
import { seeded } from '../harness/world.ts';
import { at, driver, MINUTE_MS, order, RULES } from './brute-force.ts';

const METERS = 2_500;
const BIKE = 1;
const VAN = 2;

/** Orders of a town, each for one kind of vehicle, and drivers of either kind, some on their way. */
function town(seed: number) {
  const random = seeded(seed);
  const somewhere = () => at(12_000 * random(), 12_000 * random());
  const orders = Array.from({ length: 60 }, (_, i) =>
    order(`order-${i}`, { pickup: somewhere(), dropoff: somewhere() }),
  );
  const drivers = Array.from({ length: 80 }, (_, i) => {
    const carried = order(`carried-${i}`, { pickup: somewhere(), dropoff: somewhere(), dueMs: 90 * MINUTE_MS });
    const told = (['pickup', 'dropoff'] as const).map((kind) => ({ kind, order: carried }));
    const skills = random() < 0.5 ? BIKE : VAN;
    return driver(`driver-${i}`, { place: somewhere(), skills, told: random() < 0.4 ? told : [] });
  });
  return { orders, drivers };
}

const needs = ({ id }: OpenOrder) => (id.endsWith('0') ? VAN : BIKE);

function mayCarry({ skills = 0, place, told }: PlannedDriver, wanted: OpenOrder): boolean {
  const places = [place, ...told.map((stop) => stop.order[stop.kind])];
  return (needs(wanted) & skills) !== 0 && places.some((each) => distanceMeters(each, wanted.pickup) <= METERS);
}

function planOf({ orders, drivers }: ReturnType<typeof town>, reachOf: Rules['reachOf']) {
  const byId = { orders: new Map(orders.map((each) => [each.id, each])), drivers: new Map<string, PlannedDriver>() };
  for (const each of drivers) byId.drivers.set(each.id, each);
  const asked = vi.fn((driverId: string, orderId: string) => {
    return mayCarry(byId.drivers.get(driverId) as PlannedDriver, byId.orders.get(orderId) as OpenOrder);
  });
  const planner = new Planner({ ...RULES, reachOf, mayCarry: asked });
  for (const each of drivers) planner.putDriver(each, 0);
  for (const each of orders) planner.putOrder(each, 0);
  planner.begin(0);
  while (planner.step());
  return { estimates: orders.map(({ id }) => planner.estimate(id)), asked: asked.mock.calls.length };
}

describe('the reach of an order', () => {
  it.each([1, 2, 3, 4, 5])('spares questions, and changes no plan, seed %i', (seed) => {
    const world = town(seed);
    const byId = new Map(world.orders.map((each) => [each.id, each]));
    const reach = (id: string) => ({ needs: needs(byId.get(id) as OpenOrder), meters: METERS });
    const all = planOf(world, RULES.reachOf);
    const reached = planOf(world, reach);
    expect(reached.estimates).toEqual(all.estimates);
    expect(reached.estimates.filter((each) => each?.driverId).length).toBeGreaterThan(10);
    expect(reached.asked).toBeLessThan(all.asked / 2);
  });

  it('asks nobody about an order whose need none has', () => {
    const world = town(1);
    expect(planOf(world, () => ({ needs: 1 << 31, meters: METERS })).asked).toBe(0);
  });
});

describe('orders that nobody could take', () => {
  it('are tried again until the time is over, the others next time', () => {
    const planner = new Planner(RULES);
    for (const id of ['a', 'b', 'c']) planner.putOrder(order(id), 0);
    planner.putDriver(driver('driver'), 0);
    const planned = () => ['a', 'b', 'c'].filter((id) => planner.estimate(id)?.driverId).length;
    for (const tried of [1, 2, 3]) {
      planner.retry(0, 16, true, () => true);
      expect(planned()).toBe(tried);
    }
  });

  it('are tried first where a driver came who may carry them, however many are more urgent', () => {
    const planner = new Planner({ ...RULES, mayCarry: (_driver, id) => id === 'last' });
    const urgent = Array.from({ length: 40 }, (_, i) => order(`urgent-${i}`, { dueMs: 0 }));
    for (const each of [...urgent, order('last')]) planner.putOrder(each, 0);
    for (let i = 0; i < 3; i++) planner.retry(0, 16, false, () => false);
    planner.putDriver(driver('driver'), 0);
    planner.retry(0, 16, true, () => false);
    expect(planner.estimate('last')).toEqual({ driverId: null });
    planner.retry(0, 16, false, () => false, ['driver']);
    expect(planner.estimate('last')).toMatchObject({ driverId: 'driver' });
  });
});
