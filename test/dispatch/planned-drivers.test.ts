import { expect, test } from 'vitest';
import { PlannerView } from '../../src/dispatch/planner-view.ts';
import type { FleetDriver } from '../../src/domain/driver.ts';
import type { Point } from '../../src/geo/point.ts';
import { MAX_PLANNED_DRIVERS } from '../../src/limits.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { TIERS } from '../matcher/brute-force.ts';

const NOW = Date.parse('2030-01-31T17:00:00Z');
const STORE = { lat: 40.73, lng: -73.99 };
const FAR = { lat: 30, lng: -90 };
const PLANNED = new Map([...TIERS].map(([id, tier]) => [id, { ...tier, dispatchMode: 'planned' as const }]));

function driver(id: string, place: Point): FleetDriver {
  const free = { onDuty: true, freeSinceMs: NOW, carried: [] };
  return { id, tierIds: ['standard'], position: { ...place, atMs: NOW }, ...free };
}

function order(orderId: string) {
  const waiting = { orderId, retailerId: 'store', tierId: 'standard', point: STORE, dropoff: STORE, sinceMs: NOW };
  return { ...waiting, readyAtMs: NOW, deliverByMs: NOW + 3_600_000 };
}

/** A planner's view that is full of drivers far away, as one further driver is. */
function fullView() {
  const matcher = new Matcher(PLANNED, true);
  for (let i = 0; i < MAX_PLANNED_DRIVERS; i++) matcher.putDriver(driver(`far-${i}`, FAR));
  matcher.putDriver(driver('unknown', FAR));
  const view = new PlannerView(matcher);
  matcher.planned.listen({
    orderChanged: (id) => view.orderChanged(id),
    driverChanged: (id) => view.driverChanged(id),
    tiersChanged: () => view.tiersChanged(),
  });
  matcher.wait(order('first'));
  view.flush(NOW, () => false);
  return { matcher, view };
}

const driverOf = (view: PlannerView, orderId: string) => view.planner.estimate(orderId)?.driverId;

test('of more drivers than are planned for, those near a new order are among them', () => {
  const { matcher, view } = fullView();
  // The planner is not told of a position.
  expect(matcher.moveDriver('unknown', STORE, NOW + 1)).toBe(true);
  expect(driverOf(view, 'first')).toBeNull();
  matcher.wait(order('second'));
  view.flush(NOW + 1, () => false);
  expect(driverOf(view, 'second')).toBe('unknown');
});

test('those who came near an order since are known at the next pass', () => {
  const { matcher, view } = fullView();
  matcher.moveDriver('unknown', STORE, NOW + 1);
  view.beginPass(NOW + 1);
  view.flush(NOW + 1, () => false);
  view.planner.begin(NOW + 1);
  while (view.planner.step());
  expect(driverOf(view, 'first')).toBe('unknown');
});

test('one who becomes free takes a place, and one who is busy does not', () => {
  const { matcher, view } = fullView();
  matcher.putDriver(driver('new', STORE));
  matcher.claim('new', 'other');
  view.flush(NOW, () => false);
  expect(driverOf(view, 'first')).toBeNull();
  matcher.release('new', NOW, 'other');
  view.flush(NOW, () => false);
  expect(driverOf(view, 'first')).toBe('new');
});

test('a driver for whom something is planned is not forgotten for others', () => {
  const { matcher, view } = fullView();
  matcher.putDriver(driver('near', STORE));
  view.flush(NOW, () => false);
  for (let i = 0; i < MAX_PLANNED_DRIVERS; i++) matcher.putDriver(driver(`new-${i}`, FAR));
  view.flush(NOW, () => false);
  expect(driverOf(view, 'first')).toBe('near');
});

test('nobody near an order is forgotten for another who is near it', () => {
  const matcher = new Matcher(PLANNED, true);
  matcher.putDriver(driver('nearest', STORE));
  for (let i = 1; i < MAX_PLANNED_DRIVERS; i++) matcher.putDriver(driver(`far-${i}`, FAR));
  matcher.putDriver(driver('next', { ...STORE, lat: STORE.lat + 0.01 }));
  const view = new PlannerView(matcher);
  matcher.wait(order('first'));
  view.orderChanged('first');
  view.flush(NOW, () => false);
  expect(driverOf(view, 'first')).toBe('nearest');
});

test('drivers who are not heard from take nobody’s place', () => {
  const matcher = new Matcher(PLANNED, true);
  for (let i = 0; i < MAX_PLANNED_DRIVERS; i++) {
    const silent = driver(`silent-${i}`, FAR);
    matcher.putDriver({ ...silent, position: { ...FAR, atMs: NOW - 3_600_000 } });
  }
  const times = { readyAtMs: NOW, deliverByMs: NOW + 3_600_000 };
  const other = { orderId: 'other', retailerId: 'store', pickup: STORE, dropoff: STORE, slot: 0, ...times };
  matcher.putDriver({ ...driver('busy', STORE), capacity: 2, carried: [{ ...other, step: 'to_fetch' }] });
  const view = new PlannerView(matcher);
  matcher.wait(order('first'));
  view.flush(NOW, () => false);
  view.orderChanged('first');
  view.flush(NOW, () => false);
  expect(driverOf(view, 'first')).toBe('busy');
});

test('drivers serve a tier that comes while they are known', () => {
  const matcher = new Matcher(new Map([...PLANNED].filter(([id]) => id !== 'standard')), true);
  matcher.putDriver({ ...driver('driver', STORE), tierIds: ['standard', 'priority'] });
  const view = new PlannerView(matcher);
  matcher.planned.listen({
    orderChanged: (id) => view.orderChanged(id),
    driverChanged: (id) => view.driverChanged(id),
    tiersChanged: () => view.tiersChanged(),
  });
  matcher.wait({ ...order('before'), tierId: 'scheduled', dropoff: FAR });
  view.flush(NOW, () => false);
  matcher.setTiers(PLANNED);
  matcher.wait(order('first'));
  view.flush(NOW, () => false);
  expect(driverOf(view, 'first')).toBe('driver');
});
