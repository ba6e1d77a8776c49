import { expect, test, vi } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import type { Tier } from '../../src/domain/tier.ts';
import type { Point } from '../../src/geo/point.ts';
import { PLANNER_LOOK_MS } from '../../src/limits.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { MAX_PLANNED_DRIVERS, PLANNER_PASS_MS } from '../../src/planning/planned-drivers.ts';
import { PlannerView } from '../../src/planning/planner-view.ts';
import { TIERS } from '../matcher/brute-force.ts';
import { carrying, freeDriver } from '../matcher/carrying.ts';

const NOW = Date.parse('2030-01-31T17:00:00Z');
const STORE = { lat: 40.73, lng: -73.99 };
const FAR = { lat: 30, lng: -90 };
const DAY = 86_400_000;
/** When a full view is full. */
const LATER = NOW + PLANNER_LOOK_MS;
const PLANNED = new Map([...TIERS].map(([id, tier]) => [id, { ...tier, dispatchMode: 'planned' as const }]));

const driver = (id: string, place: Point): FleetDriver => freeDriver(id, place, NOW);

function order(orderId: string) {
  const waiting = { orderId, retailerId: 'store', tierId: 'standard', point: STORE, dropoff: STORE, sinceMs: NOW };
  return { ...waiting, readyAtMs: NOW, deliverByMs: NOW + 3_600_000 };
}

/** An order that is ready far away, in a day. */
const farOrder = () => ({
  ...order('far'),
  point: FAR,
  dropoff: FAR,
  readyAtMs: NOW + DAY,
  deliverByMs: NOW + 2 * DAY,
});

function viewOf(matcher: Matcher): PlannerView {
  const view = new PlannerView(matcher);
  matcher.planned.listen({
    orderChanged: (id) => view.orderChanged(id),
    driverChanged: (id) => view.driverChanged(id),
    tiersChanged: () => view.tiersChanged(),
  });
  return view;
}

const flush = (view: PlannerView, nowMs: number) => view.flush(nowMs, () => false);

/** A planner's view that is full of drivers near an order far away, where one further driver fell silent. */
function fullView() {
  const matcher = new Matcher(PLANNED, true);
  matcher.putDrivers(Array.from({ length: MAX_PLANNED_DRIVERS }, (_, i) => driver(`far-${i}`, FAR)));
  matcher.putDriver({ ...driver('unknown', FAR), position: { ...FAR, atMs: NOW - DAY } });
  const view = viewOf(matcher);
  matcher.wait(farOrder());
  matcher.wait(order('first'));
  flush(view, NOW);
  flush(view, LATER);
  return { matcher, view };
}

/** A planner's view of these drivers and the order `first`, which nobody may get yet. */
function smallView(...drivers: readonly FleetDriver[]) {
  const matcher = new Matcher(PLANNED, true);
  matcher.putDrivers(drivers);
  const view = viewOf(matcher);
  matcher.wait(order('first'));
  flush(view, NOW);
  return { matcher, view };
}

const driverOf = (view: PlannerView, orderId: string) => view.planner.estimate(orderId)?.driverId;

test('of more drivers than are planned for, those near a new order are among them', () => {
  const { matcher, view } = fullView();
  // The planner is not told of a position.
  expect(matcher.moveDriver('unknown', STORE, LATER + 1)).toBe(true);
  expect(driverOf(view, 'first')).toBeNull();
  matcher.wait(order('second'));
  view.flush(LATER + 1, () => false);
  expect(driverOf(view, 'second')).toBe('unknown');
});

test('those who came near an order since are known at the next pass', () => {
  const { matcher, view } = fullView();
  matcher.moveDriver('unknown', STORE, LATER + 1);
  view.beginPass(LATER + 1);
  view.flush(LATER + 1, () => false);
  view.planner.begin(LATER + 1);
  while (view.planner.step());
  expect(driverOf(view, 'first')).toBe('unknown');
});

test('one who becomes free takes a place, and one who is busy does not', () => {
  const { matcher, view } = fullView();
  matcher.putDriver(driver('new', STORE));
  matcher.claim('new', 'other');
  view.flush(LATER, () => false);
  expect(driverOf(view, 'first')).toBeNull();
  matcher.release('new', LATER, 'other');
  view.flush(LATER, () => false);
  expect(driverOf(view, 'first')).toBe('new');
});

test('a driver for whom something is planned is not forgotten for others', () => {
  const { matcher, view } = fullView();
  matcher.putDriver(driver('near', STORE));
  view.flush(LATER, () => false);
  for (let i = 0; i < MAX_PLANNED_DRIVERS; i++) matcher.putDriver(driver(`new-${i}`, FAR));
  view.flush(LATER, () => false);
  expect(driverOf(view, 'first')).toBe('near');
});

test('nobody near an order is forgotten for another who is near it', () => {
  const matcher = new Matcher(PLANNED, true);
  matcher.putDriver(driver('nearest', STORE));
  matcher.putDrivers(Array.from({ length: MAX_PLANNED_DRIVERS - 1 }, (_, i) => driver(`far-${i}`, FAR)));
  matcher.putDriver(driver('next', { ...STORE, lat: STORE.lat + 0.01 }));
  const view = viewOf(matcher);
  matcher.wait(farOrder());
  flush(view, NOW);
  flush(view, NOW + PLANNER_LOOK_MS);
  matcher.wait(order('first'));
  flush(view, NOW + PLANNER_LOOK_MS);
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
  const view = viewOf(matcher);
  matcher.wait({ ...order('before'), tierId: 'scheduled', dropoff: FAR });
  view.flush(NOW, () => false);
  matcher.setTiers(PLANNED);
  matcher.wait(order('first'));
  view.flush(NOW, () => false);
  expect(driverOf(view, 'first')).toBe('driver');
});

test('an order that a driver has fetched unseen is planned for nobody', () => {
  const near = { ...driver('near', STORE), capacity: 2 };
  const { matcher, view } = smallView(near);
  matcher.wait(order('second'));
  flush(view, NOW);
  const fetched = carrying('first', { step: 'on_board', pickup: STORE, dropoff: { ...STORE, lat: STORE.lat + 0.01 } });
  matcher.unwait('first');
  matcher.putDriver({ ...near, carried: [fetched] });
  flush(view, NOW);
  expect([driverOf(view, 'second'), view.planner.estimate('first')]).toEqual(['near', undefined]);
});

test('orders that wait have the weight that their tier has now', () => {
  const { matcher, view } = smallView();
  const put = vi.spyOn(view.planner, 'putOrder');
  const standard = TIERS.get('standard') as Tier;
  matcher.setTiers(new Map([...PLANNED, ['standard', { ...standard, dispatchMode: 'planned', weight: 7 }]]));
  flush(view, NOW);
  flush(view, NOW);
  expect(put.mock.calls.map(([{ id, weight }]) => [id, weight])).toEqual([['first', 7]]);
});

test('one who is in reach of no planned order costs no look, whatever they do', () => {
  const { matcher, view } = smallView(driver('far', FAR));
  const asked = vi.spyOn(matcher, 'driver');
  matcher.claim('far', 'other');
  expect(view.driverChanged('far')).toBe(false);
  for (let ms = 0; ms <= PLANNER_PASS_MS; ms += PLANNER_LOOK_MS) {
    if (ms === PLANNER_PASS_MS) view.beginPass(NOW + ms);
    flush(view, NOW + ms);
  }
  expect(asked).not.toHaveBeenCalled();
});

test('nobody is looked at again for an order that is gone', () => {
  const { matcher, view } = smallView(driver('near', STORE));
  matcher.wait(farOrder());
  matcher.unwait('first');
  flush(view, NOW + PLANNER_LOOK_MS);
  view.beginPass(NOW + PLANNER_PASS_MS);
  flush(view, NOW + PLANNER_PASS_MS);
  const asked = vi.spyOn(matcher, 'driver');
  expect(view.driverChanged('near')).toBe(false);
  flush(view, NOW + 2 * PLANNER_PASS_MS);
  expect(asked).not.toHaveBeenCalled();
});

const NORTH = { ...STORE, lat: STORE.lat + 0.05 };
const onTheWayTo = (dropoff: Point) => ({ ...carrying('parcel'), step: 'on_board' as const, pickup: FAR, dropoff });

test.each<[string, FleetDriver, (matcher: Matcher) => void]>([
  ['comes into reach', driver('d', FAR), (matcher) => matcher.moveDriver('d', STORE, NOW + 1)],
  [
    'is heard from again',
    { ...driver('d', STORE), position: { ...STORE, atMs: NOW - DAY } },
    (matcher) => matcher.moveDriver('d', STORE, NOW + 1),
  ],
  ['was beyond a radius that grew', driver('d', NORTH), () => undefined],
])('within a look one is taken up who %s', (_, before, change) => {
  const { matcher, view } = smallView(before);
  expect(driverOf(view, 'first')).toBeNull();
  change(matcher);
  const laterMs = 6 * 60_000;
  matcher.moveDriver('d', matcher.driver('d')?.position ?? FAR, NOW + laterMs);
  flush(view, NOW + laterMs);
  expect(driverOf(view, 'first')).toBe('d');
});

test.each<[string, FleetDriver, (matcher: Matcher) => void]>([
  ['comes on duty', { ...driver('d', STORE), onDuty: false }, (matcher) => matcher.putDriver(driver('d', STORE))],
  ['is created', driver('other', FAR), (matcher) => matcher.putDriver(driver('d', STORE))],
  [
    'becomes free in reach',
    { ...driver('d', STORE), carried: [onTheWayTo(FAR)] },
    (matcher) => matcher.release('d', NOW, 'parcel'),
  ],
  [
    'gets a parcel for a door in reach',
    { ...driver('d', FAR), carried: [] },
    (matcher) => matcher.putDriver({ ...driver('d', FAR), carried: [onTheWayTo(STORE)] }),
  ],
  [
    'serves the tier from now on',
    { ...driver('d', STORE), tierIds: ['priority'] },
    (matcher) => matcher.putDriver(driver('d', STORE)),
  ],
])('at once one is taken up who %s', (_, before, change) => {
  const { matcher, view } = smallView(before);
  expect(driverOf(view, 'first')).toBeNull();
  change(matcher);
  flush(view, NOW);
  expect(driverOf(view, 'first')).toBe('d');
});

test('one who carries something is known by where they stop, wherever they are', () => {
  const { view } = smallView({ ...driver('d', FAR), carried: [onTheWayTo(STORE)] });
  flush(view, NOW + PLANNER_LOOK_MS);
  expect(driverOf(view, 'first')).toBe('d');
});

test('while orders are expected, those in reach of none are known, too, and forgotten afterwards', () => {
  const matcher = new Matcher(PLANNED, true);
  matcher.putDriver(driver('idle', { ...STORE, lat: STORE.lat + 0.03 }));
  const view = viewOf(matcher);
  view.expect([{ point: STORE, weight: 1 }], NOW);
  flush(view, NOW);
  expect(view.planner.waits(NOW).map(({ driverId }) => driverId)).toEqual(['idle']);
  view.expect([], NOW);
  matcher.wait(farOrder());
  view.beginPass(NOW);
  flush(view, NOW + PLANNER_PASS_MS);
  expect(view.planner.waits(NOW)).toEqual([]);
});
