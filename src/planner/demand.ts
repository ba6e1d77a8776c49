import { MAX_DEMAND_PLACES, PLANNER_DEMAND_MS } from '../limits.ts';
import type { Point } from '../geo/point.ts';
import { EARTH_RADIUS_METERS } from '../geo/point.ts';
import { Place } from './place.ts';

type Source = { readonly place: Place; weight: number; atMs: number };

/**
 * Where orders are expected: where they came from so far, an order that is `PLANNER_DEMAND_MS` old counting
 * half. Of more than `MAX_DEMAND_PLACES` stores the one that was quiet for the longest is forgotten.
 */
export class Demand {
  readonly #sources = new Map<string, Source>();
  #nowMs = 0;

  /** Counts an order that comes from a place, or orders of past weeks at this hour by a weight. */
  note(point: Point, nowMs: number, weight = 1): void {
    this.#nowMs = nowMs;
    const key = `${point.lat},${point.lng}`;
    const known = this.#sources.get(key);
    this.#sources.delete(key);
    if (!known && this.#sources.size >= MAX_DEMAND_PLACES) {
      for (const quiet of this.#sources.keys()) {
        this.#sources.delete(quiet);
        break;
      }
    }
    const before = known ? this.#weightOf(known) : 0;
    this.#sources.set(key, { place: known?.place ?? new Place(point), weight: before + weight, atMs: nowMs });
  }

  /** Orders that came lately, by store. */
  sources(nowMs: number): { readonly place: Place; readonly weight: number }[] {
    this.#nowMs = nowMs;
    return Array.from(this.#sources.values(), (source) => ({ place: source.place, weight: this.#weightOf(source) }));
  }

  /** Mean minutes from a place to the stores of orders to come, at 20 km/h; 0 while nothing is known. */
  minutesFrom(place: Place): number {
    let sum = 0;
    let weights = 0;
    for (const source of this.#sources.values()) {
      const weight = this.#weightOf(source);
      sum += weight * Math.sqrt(place.chordSquared(source.place));
      weights += weight;
    }
    return weights === 0 ? 0 : (sum / weights) * (EARTH_RADIUS_METERS / METERS_PER_MINUTE);
  }

  #weightOf({ weight, atMs }: Source): number {
    return weight * 2 ** ((atMs - this.#nowMs) / PLANNER_DEMAND_MS);
  }
}

const METERS_PER_MINUTE = 333;
