import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_DRIVER_CAPACITY } from '../../src/domain/driver.ts';
import {
  bestRoute,
  type CarriedOrder,
  MAX_EXACT_PARCELS,
  type Route,
  type Start,
  type Stop,
  travelMs,
} from '../../src/domain/route.ts';
import type { Vehicle } from '../../src/domain/vehicle.ts';
import { distanceMeters } from '../../src/geo/point.ts';
import { DOOR_STOP_MS, SAME_PLACE_METERS, STORE_STOP_MS } from '../../src/limits.ts';
import { displaced } from '../geo/places.ts';
import { carrying } from '../matcher/carrying.ts';

const NOW = 1_700_000_000_000;
const MINUTE = 60_000;
const STORE = { lat: 40.73, lng: -73.99 };
const start = (north = 0, vehicle: Vehicle = 'car'): Start => ({
  from: displaced(STORE, north, 0),
  atMs: NOW,
  vehicle,
});

/** An order from the store to a door so many meters north and east of it. */
function order(orderId: string, north: number, east = 0, changes: Partial<CarriedOrder> = {}): CarriedOrder {
  const dropoff = displaced(STORE, north, east);
  return carrying(orderId, { pickup: STORE, dropoff, readyAtMs: NOW, deliverByMs: NOW + 180 * MINUTE, ...changes });
}

const list = ({ stops }: Route) => stops.map(({ kind, orderIds }) => `${kind} ${orderIds.join('+')}`);

describe('the order of stops', () => {
  it('is none for a driver who carries nothing', () => {
    expect(bestRoute(start(), [])).toEqual({ stops: [], lateMinutes: 0, minutes: 0 });
  });

  it('fetches all parcels of a store at once, and brings the near one first', () => {
    const route = bestRoute(start(500), [order('far', 3_000), order('near', 1_000), order('middle', 2_000)]);
    expect(list(route)).toEqual(['pickup far+near+middle', 'dropoff near', 'dropoff middle', 'dropoff far']);
    const [pickup, door] = route.stops as [Stop, Stop];
    expect(pickup.arriveMs).toBeCloseTo(NOW + travelMs(start(500).from, STORE, 'car'), 0);
    const way = travelMs(STORE, displaced(STORE, 1_000, 0), 'car');
    expect(door.arriveMs - pickup.arriveMs).toBeCloseTo(STORE_STOP_MS + way, 0);
  });

  it('brings a far one first whose promise would not hold otherwise', () => {
    const urgent = order('urgent', 3_000, 0, { deliverByMs: NOW + 13 * MINUTE });
    expect(list(bestRoute(start(), [order('near', -2_000), urgent]))).toEqual([
      'pickup near+urgent',
      'dropoff urgent',
      'dropoff near',
    ]);
  });

  it('waits at a store until the parcel is ready, and at a door until its window begins', () => {
    const ready = order('a', 1_000, 0, { readyAtMs: NOW + 30 * MINUTE });
    const way = travelMs(STORE, ready.dropoff, 'car');
    expect(bestRoute(start(), [ready]).stops[1]?.arriveMs).toBeCloseTo(NOW + 30 * MINUTE + way, 0);
    const windowed = { ...ready, deliverAfterMs: NOW + 90 * MINUTE };
    expect(bestRoute(start(), [windowed]).stops[1]?.arriveMs).toBe(NOW + 90 * MINUTE);
  });

  it('brings what could not be delivered back to its store, and what is on board to its door', () => {
    const back = order('back', 5_000, 0, { step: 'returning' });
    const board = order('board', 1_000, 0, { step: 'on_board' });
    expect(list(bestRoute(start(2_000), [back, board]))).toEqual(['dropoff board', 'return back']);
  });

  it('has a stop for a door that nobody knows', () => {
    const { stops } = bestRoute(start(), [order('a', 0, 0, { dropoff: null })]);
    expect(stops.map(({ kind, point }) => [kind, point])).toEqual([
      ['pickup', STORE],
      ['dropoff', null],
    ]);
  });

  it('takes a bike longer than a car', () => {
    const ends = (['bike', 'van', 'car'] as const).map((vehicle) => bestRoute(start(0, vehicle), [order('a', 4_000)]));
    const times = ends.map(({ minutes }) => minutes);
    expect(times).toEqual([...times].sort((a, b) => b - a));
  });

  it('stays the same while the driver goes straight to the first stop', () => {
    fc.assert(
      fc.property(orders(1, 4), fc.double({ min: 0, max: 1, noNaN: true }), (some, share) => {
        const onBoard = some.map((each) => ({ ...each, step: 'on_board' as const, deliverAfterMs: undefined }));
        const route = bestRoute(start(), onBoard);
        const first = route.stops[0]?.point;
        if (!first) return;
        const between = {
          lat: STORE.lat + (first.lat - STORE.lat) * share,
          lng: STORE.lng + (first.lng - STORE.lng) * share,
        };
        const atMs = NOW + travelMs(STORE, between, 'car');
        const later = bestRoute({ from: between, atMs, vehicle: 'car' }, onBoard);
        // Of two that are worth the same either may come first, and roads on a sphere are not quite straight.
        expect(later.minutes * 60_000 + (atMs - NOW) * (onBoard.length + 1)).toBeCloseTo(route.minutes * 60_000, -4);
      }),
    );
  });
});

const near = fc.integer({ min: -6_000, max: 6_000 });
const anOrder = fc.record({
  north: near,
  east: near,
  store: fc.integer({ min: 0, max: 2 }),
  step: fc.constantFrom('to_fetch', 'to_fetch', 'on_board', 'returning'),
  ready: fc.integer({ min: -10, max: 40 }),
  after: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined }),
  promise: fc.integer({ min: 5, max: 120 }),
});

function orders(minLength: number, maxLength: number) {
  return fc.array(anOrder, { minLength, maxLength }).map((some) =>
    some.map((each, index) =>
      order(`o${index}`, each.north, each.east, {
        step: each.step,
        pickup: displaced(STORE, each.store * 900, each.store * 400),
        readyAtMs: NOW + each.ready * MINUTE,
        deliverAfterMs: each.after === undefined ? undefined : NOW + each.after * MINUTE,
        deliverByMs: NOW + each.promise * MINUTE,
      } as Partial<CarriedOrder>),
    ),
  );
}

type Task = { readonly order: CarriedOrder; readonly what: 'fetch' | 'bring' | 'return' };

/** Every sequence of what there is to do, each order fetched before it is brought. */
function* sequences(rest: readonly Task[], done: readonly Task[] = []): Iterable<readonly Task[]> {
  if (rest.length === 0) yield done;
  for (const task of rest) {
    const isEarly = task.what === 'bring' && rest.some((other) => other.order === task.order && other.what === 'fetch');
    if (!isEarly)
      yield* sequences(
        rest.filter((other) => other !== task),
        [...done, task],
      );
  }
}

/** What a sequence is worth, written from the documentation: lateness first, then minutes. */
function worthOf(sequence: readonly Task[]): readonly [number, number] {
  let [at, late, sum] = [NOW, 0, 0];
  let place = STORE;
  for (const { order: each, what } of sequence) {
    const to = what === 'bring' ? (each.dropoff ?? place) : each.pickup;
    const stays = at > NOW && distanceMeters(place, to) <= SAME_PLACE_METERS;
    const arrive = stays ? at : at + travelMs(place, to, 'car');
    place = to;
    if (what === 'fetch') at = Math.max(stays ? arrive : arrive + STORE_STOP_MS, each.readyAtMs);
    else if (what === 'return') at = stays ? arrive : arrive + STORE_STOP_MS;
    else {
      const door = Math.max(arrive, each.deliverAfterMs ?? 0);
      late += Math.max(0, door - each.deliverByMs);
      sum += door - NOW;
      at = door + DOOR_STOP_MS;
    }
  }
  return [late / MINUTE, (sum + at - NOW) / MINUTE];
}

function tasksOf(each: CarriedOrder): Task[] {
  if (each.step === 'returning') return [{ order: each, what: 'return' }];
  const bring: Task = { order: each, what: 'bring' };
  return each.step === 'on_board' ? [bring] : [{ order: each, what: 'fetch' }, bring];
}

function bestOfAll(some: readonly CarriedOrder[]): readonly [number, number] {
  let best: readonly [number, number] = [Number.POSITIVE_INFINITY, 0];
  for (const sequence of sequences(some.flatMap(tasksOf))) {
    const own = worthOf(sequence);
    if (own[0] < best[0] - 1e-9 || (Math.abs(own[0] - best[0]) <= 1e-9 && own[1] < best[1])) best = own;
  }
  return best;
}

describe('of all sequences', () => {
  it('the best one is found for as many orders as are tried in full', () => {
    fc.assert(
      fc.property(orders(1, 3), (some) => {
        const { lateMinutes, minutes } = bestRoute(start(), some);
        const [late, best] = bestOfAll(some);
        expect(lateMinutes).toBeCloseTo(late, 6);
        expect(minutes).toBeCloseTo(best, 6);
      }),
      { numRuns: 150 },
    );
    expect(MAX_EXACT_PARCELS).toBeGreaterThan(3);
  });

  it('one near the best is found for more orders, and always one that can be driven', () => {
    let [sum, bestSum] = [0, 0];
    fc.assert(
      fc.property(orders(5, 5), (some) => {
        const onBoard = some.map((each) => ({ ...each, step: 'on_board' as const }));
        const route = bestRoute(start(), onBoard);
        const [late, best] = bestOfAll(onBoard);
        sum += route.lateMinutes + route.minutes;
        bestSum += late + best;
      }),
      { numRuns: 60, seed: 7 },
    );
    expect(sum).toBeGreaterThanOrEqual(bestSum - 1e-6);
    expect(sum).toBeLessThan(bestSum * 1.05);
  });

  it('every order of the fullest route is fetched before it is brought, once each', () => {
    fc.assert(
      fc.property(orders(MAX_DRIVER_CAPACITY, MAX_DRIVER_CAPACITY), (some) => {
        const { stops } = bestRoute(start(), some);
        const seen = stops.flatMap(({ kind, orderIds }) => orderIds.map((id) => `${kind} ${id}`));
        expect(seen.toSorted()).toEqual(
          some
            .flatMap(tasksOf)
            .map(
              ({ order: { orderId }, what }) =>
                `${{ fetch: 'pickup', bring: 'dropoff', return: 'return' }[what]} ${orderId}`,
            )
            .toSorted(),
        );
        for (const { orderId, step } of some) {
          if (step === 'to_fetch')
            expect(seen.indexOf(`pickup ${orderId}`)).toBeLessThan(seen.indexOf(`dropoff ${orderId}`));
        }
      }),
      { numRuns: 5 },
    );
  });
});
