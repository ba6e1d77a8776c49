import type { FleetDriver } from '../domain/driver.ts';
import type { Point } from '../geo/point.ts';
import { PLANNER_LOOK_MS, POSITION_FRESH_MS } from '../limits.ts';
import type { DriverVersion } from '../matcher/drivers.ts';
import type { Matcher, WaitingOrder } from '../matcher/matcher.ts';
import type { Planner } from '../planner/planner.ts';
import type { PlannedDriver } from '../planner/types.ts';
import { OverdueStops } from './overdue-stops.ts';
import { plannedDriver, type SlipOf } from './planned-driver.ts';

/** Time between the beginnings of two passes. Above PLANNER_LOOK_MS. */
export const PLANNER_PASS_MS = 10_000;

/** Most drivers for whom is planned. Of more, those who become free or are near an order go before idle ones. */
export const MAX_PLANNED_DRIVERS = 20_000;
/** Most drivers whose place is compared with the planned orders in one look, of all there are: about 3 ms. */
const MAX_SOUGHT_PER_LOOK = 100_000;
/** Most drivers who are looked at to find one who can be forgotten. */
const MAX_FORGOTTEN_LOOKS = 32;

/** What was read when a driver was brought over. */
type KnownDriver = DriverVersion & {
  readonly isIdle: boolean;
  readonly hasRoom: boolean;
  /** Whether an order was in reach; another one is known for `lookAtEveryone` alone. */
  readonly isNear: boolean;
  /** The stops that they were told of; none for one who is idle. */
  readonly stops: readonly Point[];
};

/**
 * The drivers whom the planner knows: those on duty, heard from lately, in reach of an order that is planned; and
 * all others while somebody wants to know where the idle ones are. Where those are more than MAX_PLANNED_DRIVERS,
 * one who became free or is near an order takes the place of one who is idle and for whom nothing is planned.
 *
 * Who was changed is looked at with the next look, if they are in reach. Nothing tells of a driver who moves or
 * falls silent, nor of a radius that grows. So each PLANNER_LOOK_MS the known ones are compared with the matcher,
 * and those in reach are sought among all: a look at 100,000 drivers takes about 3 ms.
 */
export class PlannedDrivers {
  /** Whether a driver came or became free since this was last set to false. */
  hasNewIdle = false;
  readonly #matcher: Pick<Matcher, 'planned' | 'driver'>;
  readonly #planner: Planner;
  readonly #orders: ReadonlyMap<string, WaitingOrder>;
  /** Those who came first stand first, and are forgotten first. */
  readonly #known = new Map<string, KnownDriver>();
  readonly #changed = new Set<string>();
  readonly #overdue = new OverdueStops();
  #wants: 'others' | 'driving' | 'all' = 'all';
  #wantsEveryone = false;
  #comparedMs = Number.NEGATIVE_INFINITY;
  #everyoneMs = Number.NEGATIVE_INFINITY;
  /** The number of the driver with whom to go on seeking; null once all were looked at. */
  #sought: number | null = null;
  readonly #carries: (orderId: string) => void;

  /**
   * @param orders the orders that are planned
   * @param carries told of each order that a driver carries, to forget it; `putDriver` does not name all of them
   */
  constructor(
    matcher: Pick<Matcher, 'planned' | 'driver'>,
    planner: Planner,
    orders: ReadonlyMap<string, WaitingOrder>,
    carries: (orderId: string) => void,
  ) {
    this.#matcher = matcher;
    this.#planner = planner;
    this.#orders = orders;
    this.#carries = carries;
  }

  get(id: string): KnownDriver | undefined {
    return this.#known.get(id);
  }

  /** Notes that a driver was changed; false for one in whose reach nothing is, who is not looked at. */
  changed(id: string): boolean {
    if (this.#isResting) return false;
    if (!this.#known.get(id)?.isNear && !this.#matcher.planned.isInReach(id)) return false;
    this.#changed.add(id);
    return true;
  }

  /** Has every known driver brought over again. */
  lookAtAll(): void {
    this.#wants = 'all';
  }

  /** Has those who drive brought over again, as time goes on for them, and all others who are otherwise. */
  beginPass(): void {
    if (this.#wants === 'others') this.#wants = 'driving';
  }

  /** Whether those are wanted, too, who are in reach of nothing; they are compared each PLANNER_PASS_MS. */
  lookAtEveryone(isWanted: boolean): void {
    if (isWanted && !this.#wantsEveryone) this.#everyoneMs = Number.NEGATIVE_INFINITY;
    this.#wantsEveryone = isWanted;
  }

  /** Looks at nobody while nothing waits; then all are compared again. */
  rest(): void {
    this.#changed.clear();
    this.#matcher.planned.clearReach();
    this.#comparedMs = Number.NEGATIVE_INFINITY;
    this.#sought = null;
  }

  get #isResting(): boolean {
    return this.#comparedMs === Number.NEGATIVE_INFINITY;
  }

  /** Whether drivers are still being sought. */
  get isSeeking(): boolean {
    return this.#sought !== null;
  }

  get isFull(): boolean {
    return this.#known.size >= MAX_PLANNED_DRIVERS;
  }

  /**
   * Brings changes over.
   *
   * @param isOver asked after each change whether to go on later
   * @returns whether a driver came, and whether all were brought over
   */
  flush(nowMs: number, isOver: () => boolean): { readonly cameNew: boolean; readonly isDone: boolean } {
    if (this.#wants !== 'others' || nowMs >= this.#comparedMs + PLANNER_LOOK_MS) this.#compare(nowMs);
    if (this.#sought !== null) this.#seekOn(nowMs, this.#sought);
    let cameNew = false;
    for (const id of this.#changed) {
      this.#changed.delete(id);
      const before = this.#known.get(id);
      const put = this.#put(id, nowMs);
      const isNew = put?.isNear && !before?.isNear;
      if (isNew) cameNew = true;
      if (put?.isIdle && (isNew || !before?.isIdle)) this.hasNewIdle = true;
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

  /**
   * Makes the drivers nearest to an order known as they are now; nobody of them is forgotten for another. All others
   * in reach are sought within PLANNER_LOOK_MS.
   */
  makeNearKnown(order: WaitingOrder, nowMs: number): void {
    const { planned } = this.#matcher;
    planned.addReach(order, nowMs);
    const ids = planned.nearestIds(order, nowMs);
    const isOtherwise = this.#isOtherwise(nowMs);
    for (const id of ids) this.#toBack(id);
    for (const id of ids) {
      const known = this.#known.get(id);
      if (!known?.isNear || isOtherwise(id, known)) this.#put(id, nowMs);
    }
  }

  /** Notes who is otherwise in the matcher than when they were brought over, or all who are wanted. */
  #compare(nowMs: number): void {
    const { planned } = this.#matcher;
    this.#comparedMs = nowMs;
    this.#sought = 0;
    planned.clearReach();
    for (const order of this.#orders.values()) planned.addReach(order, nowMs);
    const isForEveryone = this.#wants === 'all' || nowMs >= this.#everyoneMs + PLANNER_PASS_MS;
    const isWanted = this.#isWanted(nowMs);
    this.#wants = 'others';
    for (const [id, known] of this.#known) {
      if ((known.isNear || isForEveryone) && isWanted(id, known)) this.#changed.add(id);
    }
    this.#overdue.keepOnly((id) => planned.isDriving(id));
    if (isForEveryone) this.#addEveryone(nowMs);
  }

  #addEveryone(nowMs: number): void {
    this.#everyoneMs = nowMs;
    let room = MAX_PLANNED_DRIVERS - this.#known.size;
    if (!this.#wantsEveryone || room <= 0) return;
    for (const id of this.#matcher.planned.onDutyIds(nowMs)) {
      if (this.#known.has(id)) continue;
      this.#changed.add(id);
      if (--room === 0) return;
    }
  }

  /** Notes those in reach who are not known as such, as far as there is room. */
  #seekOn(nowMs: number, from: number): void {
    let room = MAX_PLANNED_DRIVERS - this.#known.size;
    const next = this.#matcher.planned.visitInReach(from, MAX_SOUGHT_PER_LOOK, nowMs, (id) => {
      const known = this.#known.get(id);
      if (known?.isNear || (!known && room-- <= 0)) return;
      this.#changed.add(id);
    });
    this.#sought = next === 0 ? null : next;
  }

  #isWanted(nowMs: number): (id: string, known: KnownDriver) => boolean {
    const isOtherwise = this.#isOtherwise(nowMs);
    if (this.#wants === 'others') return isOtherwise;
    if (this.#wants === 'all') return () => true;
    return (id, known) => !known.isIdle || isOtherwise(id, known) || !this.#matcher.planned.isInReach(id);
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
    const isNear = planned.isInReach(id);
    const isWanted = (isNear || this.#wantsEveryone) && !planned.isSetAside(id);
    const driver = isWanted ? this.#matcher.driver(id) : undefined;
    const mayCome = driver && (this.#known.has(id) || !this.isFull || isIdle(driver));
    const asPlanned = mayCome ? plannedDriver(driver, nowMs, planned.skillsOf(driver), this.#slipOf) : null;
    if (!driver || !asPlanned || !this.#hasRoomFor(id, nowMs)) {
      if (this.#known.has(id)) this.#forget(id, nowMs);
      return null;
    }
    const hasRoom = driver.carried.length < asPlanned.room;
    const stops = isIdle(driver) ? [] : stopsOf(asPlanned);
    const known = { ...planned.versionOf(id), isIdle: isIdle(driver), hasRoom, isNear, stops };
    this.#known.set(id, known);
    this.#planner.putDriver(asPlanned, nowMs);
    for (const { orderId } of driver.carried) this.#carries(orderId);
    return known;
  }

  readonly #slipOf: SlipOf = (id, stops, endMs) => this.#overdue.slipMs(id, stops, endMs);

  #hasRoomFor(id: string, nowMs: number): boolean {
    return this.#known.has(id) || !this.isFull || this.#forgetOne(nowMs);
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
