import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { VAN_METERS_PER_MINUTE } from '../../src/domain/vehicle.ts';
import { distanceMeters } from '../../src/geo/point.ts';
import { BIKE_METERS_PER_MINUTE, CAR_METERS_PER_MINUTE, ROAD_TABLE_PLACES } from '../../src/limits.ts';
import { modelTravelMs, Place } from '../../src/planner/place.ts';
import { cellOf, RoadTable, UNKNOWN } from '../../src/planning/road-table.ts';
import {
  createRoadTimes,
  MAX_ROAD_TABLES,
  MAX_ROUTER_PAUSE_MS,
  MODEL_TIMES,
  NO_ROAD_MS,
  ROAD_FASTEST_METERS_PER_MINUTE,
  ROAD_KEPT_MS,
  ROAD_ROUND_MS,
  ROUTER_PAUSE_MS,
  type RoadTimes,
} from '../../src/planning/road-times.ts';
import type { RouterTable, TableOfPlaces } from '../../src/planning/router.ts';
import { MAX_WANTED_WAYS } from '../../src/planning/wanted-ways.ts';
import { anywhere } from '../geo/places.ts';
import { at, MINUTE_MS } from '../planner/brute-force.ts';

const HOME = new Place(at(0, 0));
const SHOP = new Place(at(3_000, 0));
const FAR = new Place(at(9_000, 4_000));

type Says = (fromLng: number, toLng: number) => number | null;

/** A router that says how long each way takes, in minutes, or what the test answers instead. */
function world({ says = () => 20 as number | null, maxRoads = 1_024 }: { says?: Says; maxRoads?: number } = {}) {
  const tables: TableOfPlaces[] = [];
  const lines: string[] = [];
  const outcomes: string[] = [];
  const state = { ms: 0, says, answer: null as ((table: TableOfPlaces) => RouterTable | Promise<RouterTable>) | null };
  const roadTimes = createRoadTimes({
    router: {
      async table(table) {
        tables.push(table);
        if (state.answer) return state.answer(table);
        const { places, sources, destinations } = table;
        const minutes = (from = -1, to = -1) => state.says(places[from]?.lng ?? 0, places[to]?.lng ?? 0);
        const durationsMs = sources.map((from) =>
          destinations.map((to) => {
            const each = minutes(from, to);
            return each === null ? null : each * MINUTE_MS;
          }),
        );
        return { kind: 'found', durationsMs };
      },
    },
    logger: { warn: (_fields, message) => void lines.push(message) },
    observe: (outcome) => void outcomes.push(outcome),
    now: () => state.ms,
    maxRoads,
  });
  return { ...roadTimes, state, tables, lines, outcomes };
}

const car = (times: Pick<RoadTimes, 'travelMs'>, from = HOME, to = SHOP, speed = CAR_METERS_PER_MINUTE) =>
  times.travelMs(from, to, speed);
const model = (from = HOME, to = SHOP, speed = CAR_METERS_PER_MINUTE) => modelTravelMs(from, to, speed);

async function learn(times: RoadTimes, from = HOME, to = SHOP): Promise<boolean> {
  times.noting(() => car(times, from, to));
  return times.fetchWanted();
}

const UNAVAILABLE = () => ({ kind: 'unavailable' }) as const;
const REFUSED = () => ({ kind: 'refused' }) as const;

describe('the time of a way', () => {
  it('is the model until the road is known, and then the road, in one direction', async () => {
    const times = world();
    expect(car(times)).toBe(model());
    expect(await learn(times)).toBe(true);
    expect(car(times)).toBeCloseTo(20 * MINUTE_MS, -3);
    expect(car(times, SHOP, HOME)).toBe(model());
    expect(await times.fetchWanted()).toBe(false);
    expect(times.tables).toHaveLength(1);
  });

  it('is longer for a van by its speed, and the model for a bike', async () => {
    const times = world();
    await learn(times);
    const van = (20 * MINUTE_MS * CAR_METERS_PER_MINUTE) / VAN_METERS_PER_MINUTE;
    expect(car(times, HOME, SHOP, VAN_METERS_PER_MINUTE)).toBeCloseTo(van, -3);
    expect(car(times, HOME, SHOP, BIKE_METERS_PER_MINUTE)).toBe(model(HOME, SHOP, BIKE_METERS_PER_MINUTE));
    times.noting(() => car(times, HOME, FAR, BIKE_METERS_PER_MINUTE));
    expect(await times.fetchWanted()).toBe(false);
  });

  it('holds for the neighbours of a cell with their own ways, and not for the next but one', async () => {
    const times = world();
    await learn(times);
    const cells = new Map([0, 40, 80, 120, 160, 200, 600].map((meters) => [meters, new Place(at(meters, 0))]));
    for (const [meters, place] of cells) {
      const detour = cellOf(place) === cellOf(HOME) ? 20 * MINUTE_MS - model() : 0;
      expect(car(times, place)).toBeCloseTo(model(place) + detour, -3);
      expect(meters < 400 || detour === 0).toBe(true);
    }
  });

  it('is above that of every road where there is none, and finite', async () => {
    const times = world({ says: (_from, to) => (to > SHOP.point.lng + 0.01 ? null : 600) });
    await learn(times);
    await learn(times, HOME, FAR);
    expect(car(times, HOME, FAR)).toBeCloseTo(model(HOME, FAR) + NO_ROAD_MS, -3);
    expect(car(times)).toBeCloseTo(model() + NO_ROAD_MS, -3);
  });

  it('is never below that of a straight motorway, whatever the router says', async () => {
    await fc.assert(
      fc.asyncProperty(
        anywhere,
        fc.double({ min: -0.3, max: 0.3, noNaN: true }),
        fc.double({ min: -0.3, max: 0.3, noNaN: true }),
        fc.oneof(fc.constant(null), fc.double({ min: 0, max: 300, noNaN: true })),
        async ({ lat, lng }, north, east, minutes) => {
          const from = { lat: Math.max(-80, Math.min(80, lat)), lng: Math.max(-179, Math.min(179, lng)) };
          const to = { lat: from.lat + north, lng: from.lng + east };
          const times = world({ says: () => minutes });
          const [a, b] = [new Place(from), new Place(to)];
          await learn(times, a, b);
          const ms = car(times, a, b);
          const leastMs = (distanceMeters(from, to) / ROAD_FASTEST_METERS_PER_MINUTE) * MINUTE_MS;
          expect(ms).toBeGreaterThanOrEqual(leastMs * (1 - 1e-5));
          expect(ms).toBeLessThanOrEqual(model(a, b) + NO_ROAD_MS + 1_000);
          expect(car(times, a, b)).toBe(ms);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('of a service without a router is the model itself', async () => {
    expect(MODEL_TIMES.travelMs).toBe(modelTravelMs);
    expect(MODEL_TIMES.noting(() => 7)).toBe(7);
    expect(await MODEL_TIMES.fetchWanted()).toBe(false);
  });
});

describe('what is asked for', () => {
  it('are ways of which a noted work asked, once for each pair of cells, and none within a cell', async () => {
    const times = world();
    car(times, HOME, FAR);
    expect(await times.fetchWanted()).toBe(false);
    times.noting(() => {
      for (let i = 0; i < 3; i++) car(times, HOME, SHOP);
      car(times, HOME, new Place(HOME.point));
      car(times, SHOP, FAR);
    });
    expect(await times.fetchWanted()).toBe(true);
    expect(times.tables).toEqual([
      { places: [HOME.point, SHOP.point, FAR.point], sources: [0, 1], destinations: [1, 2] },
    ]);
    expect(times.outcomes).toEqual(['found']);
  });

  it('is noted no longer than the work goes on, also where it throws', async () => {
    const times = world();
    expect(() =>
      times.noting(() => {
        throw new Error('broken');
      }),
    ).toThrow('broken');
    car(times);
    expect(await times.fetchWanted()).toBe(false);
  });

  it('goes in tables of bounded size, a bounded number a round, and the rest is noted again', async () => {
    const times = world({ maxRoads: 2 ** 16 });
    const grid = Array.from({ length: 90 * 90 }, (_, i) => new Place(at(500 * (i % 90), 500 * Math.floor(i / 90))));
    const noteAll = () => times.noting(() => grid.map((place) => car(times, HOME, place)));
    noteAll();
    expect(await times.fetchWanted()).toBe(true);
    expect(times.tables).toHaveLength(MAX_ROAD_TABLES);
    for (const { places } of times.tables) expect(places.length).toBeLessThanOrEqual(ROAD_TABLE_PLACES);
    const known = () => grid.filter((place) => car(times, HOME, place) !== model(HOME, place)).length;
    const first = known();
    expect(first).toBeGreaterThan(MAX_ROAD_TABLES * (ROAD_TABLE_PLACES - 2));
    expect(first).toBeLessThan(MAX_WANTED_WAYS);
    noteAll();
    await times.fetchWanted();
    expect(known()).toBeGreaterThan(1.9 * first);
  });

  it('is applied when the call resolves and not before, and one round goes on at a time', async () => {
    const times = world();
    let go = () => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    times.state.answer = async () => {
      await held;
      return { kind: 'found', durationsMs: [[20 * MINUTE_MS]] };
    };
    const first = learn(times);
    const second = times.fetchWanted();
    expect(car(times)).toBe(model());
    go();
    expect(await Promise.all([first, second])).toEqual([true, true]);
    expect(car(times)).not.toBe(model());
    expect(times.tables).toHaveLength(1);
  });

  it('is asked for no longer than a round lasts', async () => {
    const times = world();
    times.state.answer = () => {
      times.state.ms += ROAD_ROUND_MS / 2;
      return REFUSED();
    };
    times.noting(() => [SHOP, FAR].map((to) => car(times, HOME, to)));
    await times.fetchWanted();
    expect(times.tables).toHaveLength(2);
  });
});

describe('a road', () => {
  it('is forgotten after its time, at the next round', async () => {
    const times = world();
    await learn(times);
    times.state.ms = ROAD_KEPT_MS;
    await times.fetchWanted();
    expect(car(times)).not.toBe(model());
    times.state.ms = ROAD_KEPT_MS + 1_000;
    expect(car(times)).not.toBe(model());
    await times.fetchWanted();
    expect(car(times)).toBe(model());
    times.state.says = () => 40;
    expect(await learn(times)).toBe(true);
    expect(car(times)).toBeCloseTo(40 * MINUTE_MS, -3);
  });

  it('takes the place of the oldest where all places are taken', () => {
    const table = new RoadTable(8);
    const places = Array.from({ length: 12 }, (_, i) => new Place(at(1_000 * (i + 1), 0)));
    places.forEach((place, i) => void table.set(HOME, place, 100 + i, i + 1));
    expect(places.map((place) => table.get(HOME, place))).toEqual([
      ...Array(4).fill(UNKNOWN),
      ...Array.from({ length: 8 }, (_, i) => 104 + i),
    ]);
    table.set(HOME, places[5] as Place, -7, 20);
    expect(table.get(HOME, places[5] as Place)).toBe(-7);
    expect(table.get(HOME, places[4] as Place)).toBe(104);
  });

  it('is that of its own pair of cells among as many as fit', () => {
    const table = new RoadTable(2 ** 14);
    const places = Array.from({ length: 64 }, (_, i) => new Place(at(700 * (i % 8), 700 * Math.floor(i / 8))));
    for (const [i, from] of places.entries())
      for (const [j, to] of places.entries()) table.set(from, to, 64 * i + j, 1);
    let found = 0;
    for (const [i, from] of places.entries()) {
      for (const [j, to] of places.entries()) {
        const meters = table.get(from, to);
        if (i === j) expect(meters).toBe(0);
        else if (meters !== UNKNOWN) expect([meters, found++]).toEqual([64 * i + j, expect.anything()]);
      }
    }
    expect(found).toBeGreaterThan(0.99 * 64 * 63);
  });
});

describe('a router that is away', () => {
  it('is asked ever more seldom, roads that are known hold, and two lines say from when to when', async () => {
    const times = world();
    await learn(times);
    times.state.answer = UNAVAILABLE;
    const asked: number[] = [];
    for (; times.state.ms < 10 * MINUTE_MS; times.state.ms += 1_000) {
      const before = times.tables.length;
      expect(await learn(times, HOME, FAR)).toBe(false);
      if (times.tables.length > before) asked.push(times.state.ms);
    }
    const pauses = asked.slice(1).map((ms, i) => ms - (asked[i] as number));
    expect(pauses.slice(0, 2)).toEqual([ROUTER_PAUSE_MS, 2 * ROUTER_PAUSE_MS]);
    expect(Math.max(...pauses)).toBe(MAX_ROUTER_PAUSE_MS);
    expect(car(times)).not.toBe(model());
    expect(car(times, HOME, FAR)).toBe(model(HOME, FAR));
    times.state.answer = null;
    times.state.ms += MAX_ROUTER_PAUSE_MS;
    expect(await learn(times, HOME, FAR)).toBe(true);
    expect(times.lines).toEqual([
      'the router gives no times; ways are estimated until it does',
      'the router gives times again',
    ]);
  });

  it('keeps what it told before it went', async () => {
    const times = world();
    times.state.answer = () =>
      times.tables.length === 1 ? { kind: 'found', durationsMs: [[MINUTE_MS]] } : UNAVAILABLE();
    await learn(times);
    expect(await learn(times, HOME, FAR)).toBe(false);
    expect(car(times)).toBeLessThan(model());
  });
});

describe('a router that refuses', () => {
  it('large tables gets smaller ones', async () => {
    const times = world();
    times.state.answer = ({ places, sources, destinations }) => {
      if (places.length > 25) return REFUSED();
      return { kind: 'found', durationsMs: sources.map(() => destinations.map(() => 90 * MINUTE_MS)) };
    };
    const places = Array.from(
      { length: 99 },
      (_, i) => new Place(at(1_000 * (i % 10) + 500, 1_000 * Math.floor(i / 10))),
    );
    for (let round = 0; round < 3; round++) {
      times.noting(() => places.map((place) => car(times, HOME, place)));
      await times.fetchWanted();
    }
    for (const place of places) expect(car(times, HOME, place)).toBeGreaterThan(80 * MINUTE_MS);
    expect(times.lines).toEqual([]);
  });

  it('one place loses no other way, and is not asked for that one again', async () => {
    const times = world();
    times.state.answer = ({ places, sources, destinations }) => {
      if (places.some(({ lng }) => lng === FAR.point.lng)) return REFUSED();
      return { kind: 'found', durationsMs: sources.map(() => destinations.map(() => 90 * MINUTE_MS)) };
    };
    const near = Array.from({ length: 60 }, (_, i) => new Place(at(1_000 * (i % 8), 1_000 * Math.floor(i / 8) + 500)));
    const places = [...near.slice(0, 30), FAR, ...near.slice(30)];
    const isKnown = (place: Place) => car(times, HOME, place) > 80 * MINUTE_MS;
    for (let round = 0; round < 9; round++) {
      times.noting(() => places.map((place) => car(times, HOME, place)));
      await times.fetchWanted();
      times.state.ms += MAX_ROUTER_PAUSE_MS;
    }
    expect(near.every(isKnown)).toBe(true);
    expect(car(times, HOME, FAR)).toBe(model(HOME, FAR));
    const asked = times.tables.length;
    expect(await learn(times, HOME, FAR)).toBe(false);
    expect(times.tables).toHaveLength(asked);
  });
});

test('cells have a bounded size everywhere, and a number of their own', () => {
  fc.assert(
    fc.property(anywhere, anywhere, (a, b) => {
      const [one, other] = [new Place(a), new Place(b)];
      expect(Number.isSafeInteger(cellOf(one))).toBe(true);
      if (cellOf(one) === cellOf(other)) expect(distanceMeters(a, b)).toBeLessThan(350);
    }),
  );
});
