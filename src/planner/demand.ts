import type { Point } from '../geo/point.ts';
import { MAX_DEMAND_PLACES, PLANNER_DEMAND_MS } from '../limits.ts';
import { Place } from './place.ts';

type Source = { readonly place: Place; weight: number; atMs: number };

/**
 * Where orders are expected: where they came from so far, an order that is `PLANNER_DEMAND_MS` old counting
 * half. Of more than `MAX_DEMAND_PLACES` stores the one that was quiet for the longest is forgotten.
 */
export class Demand {
  readonly #sources = new Map<string, Source>();

  /** Counts an order that comes from a place, or by a weight the orders of past weeks at this hour. */
  note(point: Point, nowMs: number, weight = 1): void {
    const key = `${point.lat},${point.lng}`;
    const known = this.#sources.get(key);
    this.#sources.delete(key);
    for (const quiet of this.#sources.keys()) {
      if (this.#sources.size < MAX_DEMAND_PLACES) break;
      this.#sources.delete(quiet);
    }
    const before = known ? weightAt(known, nowMs) : 0;
    this.#sources.set(key, { place: known?.place ?? new Place(point), weight: before + weight, atMs: nowMs });
  }

  /** Expects orders as it is told, whatever came before. */
  expect(sources: readonly { readonly point: Point; readonly weight: number }[], nowMs: number): void {
    this.#sources.clear();
    for (const { point, weight } of sources) this.note(point, nowMs, weight);
  }

  /** Orders that came lately, by store. */
  sources(nowMs: number): { readonly place: Place; readonly weight: number }[] {
    return Array.from(this.#sources.values(), (source) => ({ place: source.place, weight: weightAt(source, nowMs) }));
  }
}

const weightAt = ({ weight, atMs }: Source, nowMs: number) => weight * 2 ** ((atMs - nowMs) / PLANNER_DEMAND_MS);
