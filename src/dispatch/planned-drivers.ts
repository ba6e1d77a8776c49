import type { FleetDriver } from '../domain/driver.ts';
import type { Point } from '../geo/point.ts';
import { MAX_FORGOTTEN_LOOKS, MAX_PLANNED_DRIVERS, PLANNER_LOOK_MS, POSITION_FRESH_MS } from '../limits.ts';
import type { DriverVersion } from '../matcher/drivers.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Planner } from '../planner/planner.ts';
import type { PlannedDriver } from '../planner/types.ts';
import { OverdueStops } from './overdue-stops.ts';
import { plannedDriver, type SlipOf } from './planned-driver.ts';

/** What was read when a driver was brought over. */
type KnownDriver = DriverVersion & {
  readonly isIdle: boolean;
  readonly hasRoom: boolean;
  /** The stops that they were told of; none for one who is idle. */
  readonly stops: readonly Point[];
};

/**
 * The drivers whom the planner knows: all on duty who were heard from lately. Where those are more than
 * MAX_PLANNED_DRIVERS, one who became free or is near an order takes the place of one who is idle and for whom
 * nothing is planned.
 *
 * Who was changed is looked at with the next look. Each PLANNER_LOOK_MS all known ones are compared with the
 * matcher, as nothing tells of a driver who moves or falls silent: 3,000 in 0.6 ms, 20,000 in 3 ms.
 */
export class PlannedDrivers {
  /** Whether a driver came or became free since this was last set to false. */
  hasNewIdle = false;
  readonly #matcher: Pick<Matcher, 'planned' | 'driver'>;
  readonly #planner: Planner;
  /** Those who came first stand first, and are forgotten first. */
  readonly #known = new Map<string, KnownDriver>();
  readonly #changed = new Set<string>();
  readonly #overdue = new OverdueStops();
  #wantsAll = true;
  #comparedMs = Number.NEGATIVE_INFINITY;
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

  /** Has every known driver brought over again, as time goes on for those who drive, and others as there is room. */
  lookAtAll(): void {
    this.#wantsAll = true;
  }

  /** Looks at nobody while nothing waits; then all are compared again. */
  rest(): void {
    this.#changed.clear();
    this.#comparedMs = Number.NEGATIVE_INFINITY;
  }

  /**
   * Brings changes over.
   *
   * @param isOver asked after each change whether to go on later
   * @returns whether a driver came, and whether all were brought over
   */
  flush(nowMs: number, isOver: () => boolean): { readonly cameNew: boolean; readonly isDone: boolean } {
    if (this.#wantsAll || nowMs >= this.#comparedMs + PLANNER_LOOK_MS) this.#compare(nowMs);
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

  /** Notes who is otherwise in the matcher than when they were brought over, or all who are wanted. */
  #compare(nowMs: number): void {
    this.#comparedMs = nowMs;
    const isWanted = this.#wantsAll ? () => true : this.#isOtherwise(nowMs);
    this.#wantsAll = false;
    for (const [id, known] of this.#known) if (isWanted(id, known)) this.#changed.add(id);
    this.#overdue.keepOnly((id) => this.#matcher.planned.isDriving(id));
    let room = MAX_PLANNED_DRIVERS - this.#known.size;
    if (room <= 0) return;
    for (const id of this.#matcher.planned.onDutyIds(nowMs)) {
      if (this.#known.has(id)) continue;
      this.#changed.add(id);
      if (--room === 0) return;
    }
  }

  #isOtherwise(nowMs: number): (id: string, known: KnownDriver) => boolean {
    const { planned } = this.#matcher;
    const oldestMs = nowMs - POSITION_FRESH_MS;
    return (id, { changes, heardMs, isIdle }) => {
      const now = planned.versionOf(id);
      return now.changes !== changes || now.heardMs < oldestMs || (isIdle && now.heardMs !== heardMs);
    };
  }

  #toBack(id: string): void {
    const known = this.#known.get(id);
    if (known && this.#known.delete(id)) this.#known.set(id, known);
  }

  #put(id: string, nowMs: number): KnownDriver | null {
    const { planned } = this.#matcher;
    const driver = planned.isSetAside(id) ? undefined : this.#matcher.driver(id);
    const mayCome = driver && (this.#known.has(id) || !this.#isFull || isIdle(driver));
    const asPlanned = mayCome ? plannedDriver(driver, nowMs, planned.skillsOf(driver), this.#slipOf) : null;
    if (!driver || !asPlanned || !this.#hasRoomFor(id, nowMs)) {
      if (this.#known.has(id)) this.#forget(id, nowMs);
      return null;
    }
    const hasRoom = driver.carried.length < asPlanned.room;
    const stops = isIdle(driver) ? [] : stopsOf(asPlanned);
    const known = { ...planned.versionOf(id), isIdle: isIdle(driver), hasRoom, stops };
    for (const { orderId } of driver.carried) this.#carries(orderId);
    this.#known.set(id, known);
    this.#planner.putDriver(asPlanned, nowMs);
    return known;
  }

  readonly #slipOf: SlipOf = (id, stops, endMs) => this.#overdue.slipMs(id, stops, endMs);

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

/** Where a driver who carries something will be. */
function stopsOf({ place, told }: PlannedDriver): Point[] {
  return [place, ...told.map(({ kind, order }) => (kind === 'pickup' ? order.pickup : order.dropoff))];
}
