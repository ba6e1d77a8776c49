import { chordOfMeters, chordSquared, type Point, writeVector } from '../geo/point.ts';
import { POSITION_FRESH_MS } from '../limits.ts';
import type { DriverSlots } from './driver-slots.ts';
import { stopsOf } from './gate.ts';
import { columnOf, GRID_CELLS, gridCell, gridCellsAround, rowOf } from './grid.ts';

/** Most cells of the grid in which an order's radius is marked, 200 km; a longer one is compared with each driver. */
const MAX_REACH_CELLS = 256;
/** Most such orders; where there are more, every driver counts as in reach. */
const MAX_WIDE_REACHES = 16;

/** From where the drivers of an order come, and what they need. */
type Area = { readonly vector: Float64Array; readonly needs: number; meters: number; withinSquared: number };

/** A chord is right to the 16th digit; this is a centimeter. */
const CHORD_MARGIN = 1e-9;

/**
 * The drivers who may get one of the orders that are planned: those who are within its radius, or who carry
 * something and stop within it, and have what it needs. It may name one too many, and never one too few.
 *
 * Areas lie in a coarse grid, whose marks say of most drivers in some nanoseconds that they are in none.
 */
export class PlannedReach {
  readonly #drivers: DriverSlots;
  readonly #skillsOf: (slot: number) => number;
  readonly #marks = new Uint8Array(GRID_CELLS);
  readonly #areas = new Map<string, Area>();
  readonly #byCell = new Map<number, Area[]>();
  /** Those of too many cells. */
  readonly #wide: Area[] = [];
  readonly #place = new Float64Array(3);

  /** @param skillsOf the bits of what a driver has */
  constructor(drivers: DriverSlots, skillsOf: (slot: number) => number) {
    this.#drivers = drivers;
    this.#skillsOf = skillsOf;
  }

  clear(): void {
    for (const cell of this.#byCell.keys()) this.#marks[cell] = 0;
    this.#byCell.clear();
    this.#areas.clear();
    this.#wide.length = 0;
  }

  /** Adds the drivers within some meters of a pickup, who have all bits of `needs`. */
  add(pickup: Point, needs: number, meters: number): void {
    const key = `${pickup.lat} ${pickup.lng} ${needs}`;
    const known = this.#areas.get(key);
    if (known && known.meters >= meters) return;
    const area = known ?? { vector: new Float64Array(3), needs, meters: 0, withinSquared: 0 };
    area.meters = meters;
    area.withinSquared = (chordOfMeters(meters) + CHORD_MARGIN) ** 2;
    writeVector(pickup.lat, pickup.lng, area.vector, 0);
    this.#areas.set(key, area);
    const cells = gridCellsAround(pickup, meters, MAX_REACH_CELLS);
    // Only one that grew can be in a list: to look for each new one would take the square of their number.
    const isIn = (areas: Area[]) => known !== undefined && areas.includes(area);
    if (!cells && !isIn(this.#wide)) this.#wide.push(area);
    for (const cell of cells ?? []) {
      const others = this.#byCell.get(cell);
      if (!others) this.#byCell.set(cell, [area]);
      else if (!isIn(others)) others.push(area);
      this.#marks[cell] = 1;
    }
  }

  /** Whether a driver may get one of the orders, as far as place, stops and skills say. */
  has(slot: number): boolean {
    if (this.#areas.size === 0) return false;
    if (this.#wide.length > MAX_WIDE_REACHES) return true;
    const { stopBoxes, index } = this.#drivers;
    if (!stopBoxes.has(slot)) return this.#reaches(slot, index.members.lat(slot), index.members.lng(slot));
    if (this.#wide.length === 0 && !stopBoxes.someCell(slot, this.#marks)) return false;
    const isReached = ({ lat, lng }: Point) => this.#reaches(slot, lat, lng);
    return this.#drivers.carriedOf(slot).some((order) => stopsOf(order).some(isReached));
  }

  /**
   * Visits those on duty who are heard from, may be given orders, and whom `has` names.
   *
   * @param from the slot to begin with
   * @param most so many drivers are looked at
   * @returns the slot to go on with; 0 after the last one
   */
  visit(from: number, most: number, nowMs: number, visit: (id: string) => void): number {
    const { duty, ids, setAsideUntil, index } = this.#drivers;
    const oldestMs = nowMs - POSITION_FRESH_MS;
    const end = this.#areas.size === 0 ? ids.length : Math.min(ids.length, from + most);
    for (let slot = this.#areas.size === 0 ? end : from; slot < end; slot++) {
      if (duty[slot] === 0 || !this.has(slot) || index.members.stamp(slot) < oldestMs) continue;
      if (!setAsideUntil.has(slot)) visit(ids[slot] as string);
    }
    return end === ids.length ? 0 : end;
  }

  #reaches(slot: number, lat: number, lng: number): boolean {
    const cell = gridCell(rowOf(lat), columnOf(lng));
    const isMarked = this.#marks[cell] === 1;
    if (!isMarked && this.#wide.length === 0) return false;
    writeVector(lat, lng, this.#place, 0);
    const skills = this.#skillsOf(slot);
    const isIn = ({ vector, needs, withinSquared }: Area) =>
      (needs & ~skills) === 0 && chordSquared(vector, 0, this.#place, 0) <= withinSquared;
    return this.#wide.some(isIn) || (isMarked && (this.#byCell.get(cell) as Area[]).some(isIn));
  }
}
