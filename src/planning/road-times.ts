import { ARRIVAL_DETOUR, BIKE_METERS_PER_MINUTE, below, CAR_METERS_PER_MINUTE, ROAD_TABLE_PLACES } from '../limits.ts';
import { modelTravelMs } from '../planner/place.ts';
import type { Rules } from '../planner/types.ts';
import { sharedRead } from '../shared-read.ts';
import type { Logger } from '../telemetry.ts';
import { RoadTable, UNKNOWN } from './road-table.ts';
import type { Router, RouterTable } from './router.ts';
import { type PackedTable, packTable, WantedWays, type Way } from './wanted-ways.ts';

/** Time within which the tables of one round are begun, as the planner's next look waits for them. */
export const ROAD_ROUND_MS = 2_000;
/** Pause after the first call that the router did not answer. Below MAX_ROUTER_PAUSE_MS. */
export const ROUTER_PAUSE_MS = 5_000;
/** Longest pause of a router that is away; each further failure doubles it up to this. */
export const MAX_ROUTER_PAUSE_MS = 60_000;
/** Places by which tables grow again after the router refused larger ones. */
const ROAD_TABLE_STEP = 10;
/** Most tables of one round, asked for one after another: 0.2 s of a router on the same machine. */
export const MAX_ROAD_TABLES = 10;
/**
 * Most ways whose roads are kept, 20 bytes each; a power of two. A thousand drivers with 3,000 orders have
 * some 10,000 legs, and a few alternatives to each.
 */
const MAX_ROADS = 2 ** 16;
/** Time for which the road of a way is kept: servers that know the traffic change it within an hour. */
export const ROAD_KEPT_MS = 60 * 60_000;
/**
 * Meters of straight line that a car makes in a minute at most: 108 km/h, a motorway without a bend. Above
 * CAR_METERS_PER_MINUTE.
 */
export const ROAD_FASTEST_METERS_PER_MINUTE = 1_800;
/**
 * What a way without a road takes beyond the model's time. Whoever has a road goes first, and yet an order is
 * brought where only the map lacks it.
 */
export const NO_ROAD_MS = 2 * 3_600_000;

below({ ROUTER_PAUSE_MS }, { MAX_ROUTER_PAUSE_MS });
below({ ROAD_TABLE_STEP }, { ROAD_TABLE_PLACES });
below({ CAR_METERS_PER_MINUTE }, { ROAD_FASTEST_METERS_PER_MINUTE });

const MINUTE_MS = 60_000;
/** The least share of the model's time that a car can take. */
const LEAST_SHARE = CAR_METERS_PER_MINUTE / (ARRIVAL_DETOUR * ROAD_FASTEST_METERS_PER_MINUTE);
const NO_ROAD_METERS = (NO_ROAD_MS / MINUTE_MS) * CAR_METERS_PER_MINUTE;

/**
 * Travel times of the planner, by road where the road is known and by the model elsewhere.
 *
 * Roads are asked for as late as can be, as in the lazy search of C. Dellin and S. Srinivasa ("A Unifying
 * Formalism for Shortest Path Problems with Expensive Edge Evaluations via Lazy Best-First Search over Paths
 * with Edge Selectors", 2016): the planner plans by what is known, the roads of what it chose are asked for,
 * and it plans again, until it chose nothing that is unknown or no time is left. To note are `begin` of the
 * planner, which goes along the routes that are meant, and `due`, which tries the next best drivers of what
 * is about to be told. Not to note are the steps of a pass, which ask for a hundred ways for each that they
 * choose.
 */
export type RoadTimes = {
  /** For `Rules`. Equal for equal arguments until `fetchWanted` has resolved. */
  readonly travelMs: Rules['travelMs'];
  /** Does work; the ways that it asks for, and whose roads are unknown, are wanted from then on. */
  noting<Result>(work: () => Result): Result;
  /**
   * Asks for the roads of wanted ways; true where more is known than before, so that it is worth planning
   * again. Never throws; takes ROAD_ROUND_MS and one call at most. To be called between passes.
   */
  fetchWanted(): Promise<boolean>;
};

/** Those of a service without a router. */
export const MODEL_TIMES: RoadTimes = {
  travelMs: modelTravelMs,
  noting: (work) => work(),
  fetchWanted: async () => false,
};

export type RoadTimesParts = {
  readonly router: Pick<Router, 'table'>;
  readonly logger: Pick<Logger, 'warn'>;
  /** Told of each table what became of it. */
  readonly observe?: (outcome: RouterTable['kind']) => void;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
  readonly maxRoads?: number;
};

/**
 * Keeps the roads that the router tells. A road is kept as meters beyond the model's way: a driver elsewhere
 * in the cell has the same detour to the bridge and their own way to it. Its time is the router's for a car,
 * longer by the vehicle's speed for a van, and never less than a straight motorway's. Bikes keep to the
 * model, as the router knows roads of cars alone.
 */
export function createRoadTimes(parts: RoadTimesParts): RoadTimes {
  const { router, logger, observe = () => {}, now = () => performance.now(), maxRoads = MAX_ROADS } = parts;
  const roads = new RoadTable(maxRoads);
  const wanted = new WantedWays();
  const pause = createPause(logger, now);
  let isNoting = false;
  let mostPlaces = ROAD_TABLE_PLACES;

  /** What the router says of the first of some ways; null where it is not to be asked any further. */
  async function ask(ways: readonly Way[]): Promise<{ done: number; found: readonly Found[] } | null> {
    const packed = packTable(ways, mostPlaces);
    const answer = await router.table(packed.table);
    observe(answer.kind);
    if (answer.kind === 'found') {
      pause.end();
      mostPlaces = Math.min(ROAD_TABLE_PLACES, mostPlaces + ROAD_TABLE_STEP);
      return { done: packed.ways.length, found: readFound(packed, answer.durationsMs) };
    }
    if (answer.kind === 'refused' && packed.table.places.length > 2) {
      mostPlaces = Math.max(2, Math.floor(packed.table.places.length / 2));
      return { done: 0, found: [] };
    }
    pause.begin();
    if (answer.kind === 'unavailable') return null;
    // One end is near no road: the model's time stands for it, so that it spoils no further table.
    return { done: packed.ways.length, found: packed.ways.map(({ from, to }) => ({ from, to, extraMeters: 0 })) };
  }

  async function fetchRound(): Promise<boolean> {
    const startedMs = now();
    const all: Found[] = [];
    let ways = wanted.take();
    for (let tables = 0; tables < MAX_ROAD_TABLES && now() - startedMs < ROAD_ROUND_MS; tables++) {
      if (ways.length === 0 || pause.isOn()) break;
      const answer = await ask(ways);
      if (!answer) break;
      ways = ways.slice(answer.done);
      all.push(...answer.found);
    }
    const seconds = 1 + Math.floor(now() / 1_000);
    roads.forgetBefore(seconds - ROAD_KEPT_MS / 1_000);
    for (const { from, to, extraMeters } of all) roads.set(from, to, extraMeters, seconds);
    return all.length > 0;
  }

  return {
    travelMs(from, to, metersPerMinute) {
      const modelMs = modelTravelMs(from, to, metersPerMinute);
      if (metersPerMinute <= BIKE_METERS_PER_MINUTE) return modelMs;
      const extraMeters = roads.get(from, to);
      if (extraMeters === UNKNOWN) {
        if (isNoting) wanted.note(from, to);
        return modelMs;
      }
      return Math.max(modelMs * LEAST_SHARE, modelMs + (extraMeters * MINUTE_MS) / metersPerMinute);
    },
    noting(work) {
      isNoting = true;
      try {
        return work();
      } finally {
        isNoting = false;
      }
    },
    fetchWanted: sharedRead(fetchRound),
  };
}

type Found = Way & { readonly extraMeters: number };

function readFound({ ways }: PackedTable, durationsMs: readonly (readonly (number | null)[])[]): Found[] {
  return ways.map(({ from, to, row, column }) => {
    const roadMs = durationsMs[row]?.[column] ?? null;
    if (roadMs === null) return { from, to, extraMeters: NO_ROAD_METERS };
    const beyondMs = roadMs - modelTravelMs(from, to, CAR_METERS_PER_MINUTE);
    return { from, to, extraMeters: Math.min(NO_ROAD_METERS, (beyondMs / MINUTE_MS) * CAR_METERS_PER_MINUTE) };
  });
}

/** While a router is away it is asked ever more seldom. */
function createPause(logger: Pick<Logger, 'warn'>, now: () => number) {
  let pauseMs = 0;
  let untilMs = Number.NEGATIVE_INFINITY;
  let awayMs = 0;
  return {
    isOn: () => now() < untilMs,
    begin(): void {
      if (pauseMs === 0) {
        awayMs = now();
        logger.warn({}, 'the router gives no times; ways are estimated until it does');
      }
      pauseMs = pauseMs === 0 ? ROUTER_PAUSE_MS : Math.min(MAX_ROUTER_PAUSE_MS, 2 * pauseMs);
      untilMs = now() + pauseMs;
    },
    end(): void {
      if (pauseMs === 0) return;
      pauseMs = 0;
      logger.warn({ ms: Math.round(now() - awayMs) }, 'the router gives times again');
    },
  };
}
