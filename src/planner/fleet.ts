import { EARTH_RADIUS_METERS } from '../geo/point.ts';
import { PLANNER_NEAREST } from '../limits.ts';
import { enlarged } from '../spatial-index/enlarged.ts';
import type { Place } from './place.ts';
import type { Route, Stop } from './route.ts';
import type { PlannedDriver, Reach } from './types.ts';

/** How long before their duty begins drivers are planned for, so that they are told as it begins. */
const PLANNER_AHEAD_MS = 30 * 60_000;

/**
 * Vectors of where the route is open and where it ends; start, end, end and begin of duty; pace; the distance
 * from where it is open to the farthest told stop; skills.
 */
const FIGURES = 13;
const ALL_SKILLS = -1;

/**
 * The routes, with what a search for the nearest drivers reads in one flat array: a thousand drivers are read
 * in some microseconds, so no tree is kept.
 */
export class Fleet {
  readonly routes: Route[] = [];
  /** The routes with stops of which the driver was not told. */
  readonly planned = new Set<Route>();
  readonly #byDriver = new Map<string, Route>();
  readonly #slots = new Map<Route, number>();
  #figures = new Float64Array(64 * FIGURES);

  has(route: Route): boolean {
    return this.#slots.has(route);
  }

  get(driverId: string): Route | undefined {
    return this.#byDriver.get(driverId);
  }

  add(route: Route): void {
    const slot = this.routes.length;
    this.routes.push(route);
    this.#byDriver.set(route.driver.id, route);
    this.#slots.set(route, slot);
    const { length } = this.#figures;
    if ((slot + 1) * FIGURES > length) this.#figures = enlarged(this.#figures, 2 * length);
  }

  remove(route: Route): void {
    const slot = this.#slots.get(route) as number;
    const last = this.routes.pop() as Route;
    this.#slots.delete(route);
    this.#byDriver.delete(route.driver.id);
    this.planned.delete(route);
    for (const seen of Object.values(route.seen)) seen.forget();
    if (last === route) return;
    this.routes[slot] = last;
    this.#slots.set(last, slot);
    this.#figures.copyWithin(slot * FIGURES, this.routes.length * FIGURES, (this.routes.length + 1) * FIGURES);
  }

  /** Puts a route behind all others that have planned stops. */
  lookAtLast(driverId: string): void {
    const route = this.#byDriver.get(driverId);
    if (route && this.planned.delete(route)) this.planned.add(route);
  }

  /** Writes down where and when a route begins and ends; to be called after each change. */
  write(route: Route): void {
    const slot = this.#slots.get(route);
    if (slot === undefined) return;
    if (route.hasPlanned) this.planned.add(route);
    else this.planned.delete(route);
    const at = slot * FIGURES;
    const { driver, place, endPlace } = route;
    const figures = this.#figures;
    figures[at] = place.x;
    figures[at + 1] = place.y;
    figures[at + 2] = place.z;
    figures[at + 3] = endPlace.x;
    figures[at + 4] = endPlace.y;
    figures[at + 5] = endPlace.z;
    figures[at + 6] = route.times[0] as number;
    figures[at + 7] = route.endMs;
    figures[at + 8] = driver.offDutyMs;
    figures[at + 9] = msPerChord(driver);
    figures[at + 10] = driver.onDutyMs;
    figures[at + 11] = spreadOf(route);
    figures[at + 12] = driver.skills ?? ALL_SKILLS;
  }

  /**
   * The routes from which a place is reached first, from where the route begins or where it ends, the earliest
   * first. Straight lines estimate it: exact ways are asked for only of those few.
   */
  nearest(to: Place, nowMs: number, { needs, meters }: Reach, mayServe: (route: Route) => boolean): Route[] {
    const { x, y, z } = to;
    // A chord is shorter than its arc, so nobody in reach is passed over.
    const reach = meters / EARTH_RADIUS_METERS;
    const figures = this.#figures;
    const list: { route: Route; atMs: number }[] = [];
    let worst = Number.POSITIVE_INFINITY;
    for (let slot = 0, at = 0; slot < this.routes.length; slot++, at += FIGURES) {
      const perChord = figures[at + 9] as number;
      const startMs = Math.max(nowMs, figures[at + 6] as number);
      const endMs = Math.max(nowMs, figures[at + 7] as number);
      let dx = (figures[at] as number) - x;
      let dy = (figures[at + 1] as number) - y;
      let dz = (figures[at + 2] as number) - z;
      const start = dx * dx + dy * dy + dz * dz;
      dx = (figures[at + 3] as number) - x;
      dy = (figures[at + 4] as number) - y;
      dz = (figures[at + 5] as number) - z;
      const end = dx * dx + dy * dy + dz * dz;
      // Most are too far, which squares tell without a root.
      if (!isBelow(worst - startMs, start, perChord) && !isBelow(worst - endMs, end, perChord)) continue;
      const spread = reach + (figures[at + 11] as number);
      if (start > spread * spread || (needs & ~(figures[at + 12] as number)) !== 0) continue;
      if ((figures[at + 8] as number) <= nowMs || (figures[at + 10] as number) > nowMs + PLANNER_AHEAD_MS) continue;
      const route = this.routes[slot] as Route;
      if (!mayServe(route)) continue;
      const atMs = Math.min(startMs + Math.sqrt(start) * perChord, endMs + Math.sqrt(end) * perChord);
      let k = list.length < PLANNER_NEAREST ? list.length : PLANNER_NEAREST - 1;
      for (; k > 0 && (list[k - 1] as { atMs: number }).atMs > atMs; k--) {
        list[k] = list[k - 1] as { route: Route; atMs: number };
      }
      list[k] = { route, atMs };
      if (list.length === PLANNER_NEAREST) worst = (list[PLANNER_NEAREST - 1] as { atMs: number }).atMs;
    }
    return list.map((each) => each.route);
  }
}

/** Milliseconds for a chord of length 1 on a globe with a radius of 1. */
export const msPerChord = ({ metersPerMinute }: Pick<PlannedDriver, 'metersPerMinute'>): number =>
  (60_000 * EARTH_RADIUS_METERS) / metersPerMinute;

/** The chord from where the driver is to the farthest place of which they were told. */
function spreadOf({ place, stops, toldEnd }: Route): number {
  let most = 0;
  for (let i = 0; i < toldEnd; i++) most = Math.max(most, (stops[i] as Stop).place.chordSquared(place));
  return Math.sqrt(most);
}

const isBelow = (leftMs: number, chordSquared: number, perChord: number) =>
  leftMs > 0 && chordSquared * perChord * perChord < leftMs * leftMs;
