import { expect, test } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { PlannerView } from '../../src/planning/planner-view.ts';
import { TIERS } from '../matcher/brute-force.ts';
import { carrying, freeDriver } from '../matcher/carrying.ts';

const NOW = Date.parse('2030-01-31T17:00:00Z');
const STORE = { lat: 40.73, lng: -73.99 };
const NORTH = { lat: 40.78, lng: -73.99 };
const SOUTH = { lat: 40.68, lng: -73.99 };
const HOUR = 3_600_000;
const PLANNED = new Map([...TIERS].map(([id, tier]) => [id, { ...tier, dispatchMode: 'planned' as const }]));

const driver = (orderIds: readonly string[]): FleetDriver => {
  const parcel = { retailerId: 'store', pickup: STORE, dropoff: STORE, readyAtMs: NOW, deliverByMs: NOW + HOUR };
  return freeDriver('d', STORE, NOW, { carried: orderIds.map((orderId) => carrying(orderId, parcel)) });
};
const order = (orderId: string) => {
  const waiting = { orderId, retailerId: 'store', tierId: 'standard', point: STORE, dropoff: STORE, sinceMs: NOW };
  return { ...waiting, readyAtMs: NOW, deliverByMs: NOW + HOUR };
};

function viewOf(matcher: Matcher): PlannerView {
  const view = new PlannerView(matcher);
  matcher.planned.listen({
    orderChanged: (id) => view.orderChanged(id),
    driverChanged: (id) => view.driverChanged(id),
    tiersChanged: () => view.tiersChanged(),
  });
  view.flush(NOW, () => false);
  return view;
}

test('an order that waits before its driver is known to have given it back is planned once they are', () => {
  const matcher = new Matcher(PLANNED, true);
  matcher.putDriver(driver(['order']));
  const view = viewOf(matcher);
  matcher.wait(order('order'));
  view.flush(NOW, () => false);
  expect([...view.orderIds()]).toEqual([]);
  matcher.putDriver(driver([]));
  view.flush(NOW, () => false);
  expect([...view.orderIds()]).toEqual(['order']);
});

test('a view without orders is not idle while the matcher has any that a pass would take up', () => {
  const matcher = new Matcher(PLANNED, true);
  const view = viewOf(matcher);
  expect(view.isIdle(NOW)).toBe(true);
  matcher.wait({ ...order('tomorrow'), dueMs: NOW + 24 * HOUR });
  view.flush(NOW, () => false);
  expect(new PlannerView(matcher).isIdle(NOW)).toBe(true);
  matcher.wait({ ...order('soon'), dueMs: NOW + HOUR });
  expect(new PlannerView(matcher).isIdle(NOW)).toBe(false);
  matcher.unwait('soon');
  matcher.wait(order('now'));
  expect(new PlannerView(matcher).isIdle(NOW)).toBe(false);
});

test('an order that is promised for days ahead goes before new ones once it has waited for half of its longest wait', () => {
  const first = (waitedHours: number) => {
    const matcher = new Matcher(PLANNED, true);
    matcher.putDriver(driver([]));
    const view = viewOf(matcher);
    const sinceMs = NOW - waitedHours * HOUR;
    matcher.wait({ ...order('old'), sinceMs, readyAtMs: sinceMs, deliverByMs: NOW + 48 * HOUR, dropoff: NORTH });
    matcher.wait({ ...order('new'), dropoff: SOUTH });
    view.flush(NOW, () => false);
    const doors = ['old', 'new']
      .map((id) => view.planner.estimate(id))
      .map((planned) => planned && 'doorMs' in planned && planned.doorMs);
    expect(doors.every((doorMs) => Number(doorMs) > NOW)).toBe(true);
    return Number(doors[0]) < Number(doors[1]) ? 'old' : 'new';
  };
  expect([first(1), first(23)]).toEqual(['new', 'old']);
});
