import type { FleetDriver } from '../domain/driver.ts';
import type { Point } from '../geo/point.ts';
import { MAX_FORGOTTEN_LOOKS, MAX_PLANNED_DRIVERS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Planner } from '../planner/planner.ts';
import type { PlannedDriver } from '../planner/types.ts';
import { plannedDriver } from './planned-driver.ts';

type KnownDriver = {
  readonly driver: FleetDriver;
  readonly isIdle: boolean;
  readonly hasRoom: boolean;
  /** Where they are and will be. */
  readonly places: readonly Point[];
};

/**
 * The drivers whom the planner knows: all on duty who were heard from lately. Where those are more than
 * MAX_PLANNED_DRIVERS, one who became free or is near an order takes the place of one who is idle and for whom
 * nothing is planned.
 */
export class PlannedDrivers {
  /** Whether a driver came or became free since this was last set to false. */
  hasNewIdle = false;
  readonly #matcher: Pick<Matcher, 'planned' | 'driver'>;
  readonly #planner: Planner;
  /** Those who came first stand first, and are forgotten first. */
  readonly #known = new Map<string, KnownDriver>();
  readonly #changed = new Set<string>();
  #wantsAll = true;
  readonly #carries: (orderId: string) => void;

  /** @param carries told of each order that a driver carries, which the planner forgets with that */
  constructor(matcher: Pick<Matcher, 'planned' | 'driver'>, planner: Planner, carries: (orderId: string) => void) {
    this.#matcher = matcher;
    this.#planner = planner;
    this.#carries = carries;
  }

  get size(): number {
    return this.#known.size;
  }

  get(id: string): KnownDriver | undefined {
    return this.#known.get(id);
  }

  changed(id: string): void {
    this.#changed.add(id);
  }

  /** Has every known driver looked at again, as those without an order move, and others as there is room. */
  lookAtAll(): void {
    this.#wantsAll = true;
  }

  /** Forgets most changes of drivers who are not known, while nothing waits for them. */
  forgetChanges(): void {
    if (this.#changed.size <= MAX_PLANNED_DRIVERS) return;
    for (const id of this.#changed) if (!this.#known.has(id)) this.#changed.delete(id);
  }

  /**
   * Brings changes over.
   *
   * @param isOver asked after each change whether to go on later
   * @returns whether a driver came, and whether all were brought over
   */
  flush(nowMs: number, isOver: () => boolean): { readonly cameNew: boolean; readonly isDone: boolean } {
    if (this.#wantsAll) this.#noteAll(nowMs);
    let cameNew = false;
    for (const id of this.#changed) {
      this.#changed.delete(id);
      const isNew = !this.#known.has(id);
      const wasIdle = this.#known.get(id)?.isIdle;
      const put = this.#put(id, nowMs);
      cameNew ||= isNew && put !== null;
      if (put?.isIdle && !wasIdle) this.hasNewIdle = true;
      if (isOver()) return { cameNew, isDone: false };
    }
    return { cameNew, isDone: true };
  }

  /** Brings some drivers over at once, as what was told them is known from now on. */
  putNow(ids: readonly string[], nowMs: number): void {
    for (const id of ids) {
      this.#changed.delete(id);
      this.#put(id, nowMs);
    }
  }

  /** Makes drivers known who are near an order; nobody of them is forgotten for another. */
  makeKnown(ids: readonly string[], nowMs: number): void {
    for (const id of ids) this.#toBack(id);
    for (const id of ids) if (!this.#known.has(id)) this.#put(id, nowMs);
  }

  #noteAll(nowMs: number): void {
    this.#wantsAll = false;
    for (const id of this.#known.keys()) this.#changed.add(id);
    let room = MAX_PLANNED_DRIVERS - this.#known.size;
    if (room <= 0) return;
    for (const id of this.#matcher.planned.onDutyIds(nowMs)) {
      if (this.#known.has(id)) continue;
      this.#changed.add(id);
      if (--room === 0) return;
    }
  }

  #toBack(id: string): void {
    const known = this.#known.get(id);
    if (known && this.#known.delete(id)) this.#known.set(id, known);
  }

  #put(id: string, nowMs: number): KnownDriver | null {
    const { planned } = this.#matcher;
    const driver = planned.isSetAside(id) ? undefined : this.#matcher.driver(id);
    const mayCome = driver && (this.#known.has(id) || !this.#isFull || isIdle(driver));
    const asPlanned = mayCome ? plannedDriver(driver, nowMs, planned.skillsOf(driver)) : null;
    if (!driver || !asPlanned || !this.#hasRoomFor(id, nowMs)) {
      if (this.#known.has(id)) this.#forget(id, nowMs);
      return null;
    }
    const hasRoom = driver.carried.length < asPlanned.room;
    const known = { driver, isIdle: isIdle(driver), hasRoom, places: placesOf(asPlanned) };
    for (const { orderId } of driver.carried) this.#carries(orderId);
    this.#known.set(id, known);
    this.#planner.putDriver(asPlanned, nowMs);
    return known;
  }

  get #isFull(): boolean {
    return this.#known.size >= MAX_PLANNED_DRIVERS;
  }

  #hasRoomFor(id: string, nowMs: number): boolean {
    return this.#known.has(id) || !this.#isFull || this.#forgetOne(nowMs);
  }

  #forget(id: string, nowMs: number): void {
    this.#known.delete(id);
    this.#planner.dropDriver(id, nowMs);
  }

  /** Forgets a driver for whom nothing is planned; false where none of the first ones is such. */
  #forgetOne(nowMs: number): boolean {
    let looks = MAX_FORGOTTEN_LOOKS;
    for (const [id, known] of this.#known) {
      if (looks-- === 0) return false;
      if (known.isIdle && this.#planner.stopsOf(id).length === 0) {
        this.#forget(id, nowMs);
        return true;
      }
      this.#toBack(id);
    }
    return false;
  }
}

const isIdle = ({ carried }: FleetDriver) => carried.length === 0;

/** Where a driver is or will be. */
function placesOf({ place, told }: PlannedDriver): Point[] {
  return [place, ...told.map(({ kind, order }) => (kind === 'pickup' ? order.pickup : order.dropoff))];
}
