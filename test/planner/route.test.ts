import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fleet } from '../../src/planner/fleet.ts';
import { relocate } from '../../src/planner/improve.ts';
import { cheapestInsertion, withInserted } from '../../src/planner/insertion.ts';
import { Plan } from '../../src/planner/plan.ts';
import { Planner } from '../../src/planner/planner.ts';
import { bestOrder } from '../../src/planner/reorder.ts';
import { Route, type Stop, Task } from '../../src/planner/route.ts';
import type { OpenOrder, PlannedDriver } from '../../src/planner/types.ts';
import { Walk } from '../../src/planner/walk.ts';
import { runs } from '../harness/counts.ts';
import { at, costOf, drive, driver, MINUTE_MS, order, RULES, sequences, type Visit } from './brute-force.ts';

const minute = (max: number) => fc.integer({ min: 0, max }).map((n) => n * MINUTE_MS);
/** Few places, so that stores and doors coincide. */
const point = fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 3 })).map(([x, y]) => {
  return at(1_500 * x, 1_500 * y);
});
const parcel = fc
  .record({
    pickup: point,
    dropoff: point,
    readyMs: minute(40),
    doorFromMs: fc.oneof(fc.constant(undefined), minute(120)),
    countsFromMs: fc.oneof(fc.constant(undefined), minute(90)),
    promise: minute(180),
    weight: fc.constantFrom(1, 2),
    room: fc.constantFrom(1, 1, 2),
  })
  .map(({ promise, ...rest }) => ({ ...rest, dueMs: (rest.countsFromMs ?? 0) + promise + 10 * MINUTE_MS }));
const parcels = (most: number) =>
  fc.array(parcel, { minLength: 1, maxLength: most }).map((list) => list.map((each, i) => order(`order-${i}`, each)));
const someone = fc.record({
  place: point,
  freeAtMs: minute(30),
  isPickingUp: fc.boolean(),
  offDutyMs: fc.oneof(minute(120), fc.constant(Number.POSITIVE_INFINITY)),
  room: fc.integer({ min: 1, max: 4 }),
});
const nowMs = 5 * MINUTE_MS;

function routeOf(who: PlannedDriver, visits: readonly Visit[], rules = RULES): { walk: Walk; route: Route } {
  const walk = new Walk(rules);
  walk.nowMs = nowMs;
  const route = new Route(who);
  const tasks = new Map<string, Task>();
  route.stops = visits.map(({ kind, order: each }) => {
    const task = tasks.get(each.id) ?? new Task(each, rules);
    tasks.set(each.id, task);
    return kind === 'pickup' ? task.pickup : task.dropoff;
  });
  walk.refresh(route);
  return { walk, route };
}

const visitsOf = (stops: readonly Stop[]): Visit[] =>
  stops.map(({ isPickup, task }) => ({ kind: isPickup ? 'pickup' : 'dropoff', order: task.order }));

/** The least cost of all sequences that pass; null where none does. */
function least(who: PlannedDriver, all: Iterable<Visit[]>): number | null {
  let best: number | null = null;
  for (const visits of all) {
    const cost = costOf(RULES, who, visits, nowMs);
    if (cost !== null && (best === null || cost < best)) best = cost;
  }
  return best;
}

describe('a route of up to four parcels agrees with brute force', () => {
  it('in what a list of stops costs, and in whether it is allowed', () => {
    fc.assert(
      fc.property(parcels(3), someone, fc.nat(), fc.boolean(), (orders, changes, pick, staysInShift) => {
        const rules = { ...RULES, staysInShift };
        const who = driver('driver', changes);
        // Days without `staysInShift` have no windows.
        const all = [...sequences(staysInShift ? orders : orders.map((each) => ({ ...each, doorFromMs: undefined })))];
        const visits = all[pick % all.length] as Visit[];
        const { route } = routeOf(who, visits, rules);
        const expected = costOf(rules, who, visits, nowMs);
        if (expected === null) expect(route.cost).toBe(Number.POSITIVE_INFINITY);
        else expect(route.cost).toBeCloseTo(expected, 4);
      }),
      { numRuns: runs(150, 500) },
    );
  });

  it('in the best order of its stops, under windows, room and the end of a shift', () => {
    fc.assert(
      fc.property(parcels(4), someone, (orders, changes) => {
        const who = driver('driver', changes);
        const inTurn = orders.flatMap((each): Visit[] => [
          { kind: 'pickup', order: each },
          { kind: 'dropoff', order: each },
        ]);
        const { walk, route } = routeOf(who, inTurn);
        const best = bestOrder(walk, route, Number.POSITIVE_INFINITY);
        const expected = least(who, sequences(orders));
        if (expected === null) expect(best).toBeNull();
        else expect(costOf(RULES, who, visitsOf(best as Stop[]), nowMs)).toBeCloseTo(expected, 4);
      }),
      { numRuns: runs(50, 150) },
    );
  });

  it('in the cheapest insertion of one more, the order of the others kept', () => {
    fc.assert(
      fc.property(parcels(4), someone, fc.nat(), (orders, changes, pick) => {
        const who = driver('driver', changes);
        const [fresh, ...rest] = orders as [OpenOrder, ...OpenOrder[]];
        const allowed = [...sequences(rest)].filter((visits) => costOf(RULES, who, visits, nowMs) !== null);
        const visits = allowed[pick % Math.max(1, allowed.length)];
        if (!visits) return;
        const { walk, route } = routeOf(who, visits);
        const found = cheapestInsertion(walk, route, new Task(fresh, RULES), Number.POSITIVE_INFINITY);
        const expected = least(who, insertions(visits, fresh));
        if (expected === null || !found) {
          expect([found, expected]).toEqual([null, null]);
          return;
        }
        expect(route.cost + found.cost).toBeCloseTo(expected, 4);
        const stops = withInserted(found, new Task(fresh, RULES));
        expect(costOf(RULES, who, visitsOf(stops), nowMs)).toBeCloseTo(expected, 4);
      }),
      { numRuns: runs(150, 500) },
    );
  });
});

function* insertions(visits: readonly Visit[], fresh: OpenOrder): Generator<Visit[]> {
  for (let i = 0; i <= visits.length; i++) {
    for (let j = i; j <= visits.length; j++) {
      const pickup: Visit = { kind: 'pickup', order: fresh };
      yield [...visits.slice(0, i), pickup, ...visits.slice(i, j), { ...pickup, kind: 'dropoff' }, ...visits.slice(j)];
    }
  }
}

it('gives who was told of parcels further ones only where no promise is broken that would hold without', () => {
  const told = fc.tuple(parcels(2), someone, fc.array(parcel, { maxLength: 4 }), fc.nat(), fc.boolean());
  fc.assert(
    fc.property(told, ([held, changes, others, pick, isOnBoard]) => {
      const all = [...sequences(held)];
      const visits = (all[pick % all.length] as Visit[]).filter(({ kind }) => kind === 'dropoff' || !isOnBoard);
      const who = driver('driver', { ...changes, room: 4, told: visits });
      const planner = new Planner(RULES);
      planner.putDriver(who, nowMs);
      for (const [i, each] of others.entries()) planner.putOrder(order(`further-${i}`, each), nowMs);
      planner.begin(nowMs);
      while (planner.step());
      const stops = planner.stopsOf(who.id);
      if (stops.length === visits.length) return;
      const doors = (list: readonly Visit[]) => {
        const times = drive(RULES, who, list, Math.max(who.freeAtMs, nowMs))?.doors ?? [];
        const ids = list.filter(({ kind }) => kind === 'dropoff').map(({ order: { id } }) => id);
        return new Map(ids.map((id, i) => [id, times[i] ?? Number.NaN]));
      };
      const without = doors(visits);
      const now = doors(stops);
      for (const { id, dueMs } of held) {
        expect(now.get(id)).toBeLessThanOrEqual(Math.max(dueMs, without.get(id) as number));
      }
    }),
    { numRuns: runs(100, 300) },
  );
});

it('a late order goes to a nearer driver, however much later it is since its route was made', () => {
  const plan = new Plan(RULES);
  plan.putDriver(driver('far', { place: at(9_000, 0) }), []);
  const task = new Task(order('late', { dueMs: 0 }), RULES);
  plan.insert(task);
  plan.putDriver(driver('near'), []);
  plan.walk.nowMs = 60 * MINUTE_MS;
  expect([relocate(plan, task), task.route?.driver.id]).toEqual([true, 'near']);
});

it('a route that is gone lets go of those that it was compared with', () => {
  const [gone, other] = ['gone', 'other'].map((id) => new Route(driver(id))) as [Route, Route];
  const fleet = new Fleet();
  fleet.add(gone);
  fleet.add(other);
  expect(gone.seen.ends.unseen(gone, [other], nowMs)).toEqual([other]);
  expect(gone.seen.ends.unseen(gone, [other], nowMs)).toEqual([]);
  fleet.remove(gone);
  expect(gone.seen.ends.unseen(gone, [other], nowMs)).toEqual([other]);
});
