import type { FleetDriver } from '../../src/domain/driver.ts';
import type { HoldReason, StoreHold } from '../../src/domain/hold.ts';
import { radiusAfter, type Tier, type TierId, type Tiers } from '../../src/domain/tier.ts';
import { carries } from '../../src/domain/vehicle.ts';
import { chordSquared, distanceMeters, type Point, writeVector } from '../../src/geo/point.ts';
import { POSITION_FRESH_MS, WAY_METERS_PER_MINUTE } from '../../src/limits.ts';
import type { ClaimedDriver, NewClaim } from '../../src/matcher/claims.ts';
import { AGE_DECIDES_MS, AGE_STEP_MS, WAIT_FACTOR } from '../../src/matcher/cost.ts';
import { SET_ASIDE_MS } from '../../src/matcher/drivers.ts';
import type {
  AssignOutcome,
  DriverQuery,
  FoundDriver,
  FoundOrder,
  Matcher,
  WaitingOrder,
  WaitReason,
} from '../../src/matcher/matcher.ts';
import { carrying } from './carrying.ts';

export const TIERS: Tiers = new Map<TierId, Tier>([
  ['standard', tier('standard', 3_000, 600, 20_000, 1)],
  ['priority', tier('priority', 5_000, 0, 5_000, 4)],
  ['scheduled', tier('scheduled', 500, 100_000, 5_000_000, 1)],
]);

/** A table of `count` tiers: those of `TIERS`, and more like them. */
export function tiersOf(count: number): Tiers {
  const usual = [...TIERS.values()];
  const tiers = Array.from({ length: count }, (_, i): Tier => {
    const { id, weight, ...like } = usual[i % usual.length] as Tier;
    return i < usual.length ? { id, weight, ...like } : { id: `tier-${i}`, weight: 1 + (i % 4), ...like };
  });
  return new Map(tiers.map((tier) => [tier.id, tier]));
}

function tier(id: TierId, radiusMeters: number, growth: number, maxRadiusMeters: number, weight: number): Tier {
  const radiusGrowthMetersPerMinute = growth;
  const money = { feeCents: 1000, payoutCents: 700, maxWaitSeconds: 86_400, maxDistanceMeters: 40_000 };
  const usual = { promiseMinutes: 180, dispatchMode: 'nearest' as const };
  return { id, ...money, ...usual, radiusMeters, radiusGrowthMetersPerMinute, maxRadiusMeters, weight };
}

type Known = { -readonly [K in keyof Omit<FleetDriver, 'carried'>]: FleetDriver[K] } & {
  /** Every driver has room for one. */
  orderId: string | null;
  setAsideUntil: number | undefined;
};

/** The operations of a matcher except batches, shares, rejected candidates and later orders, which have own tests. */
export type MatcherFace = Omit<
  Pick<Matcher, keyof Matcher>,
  | 'whyNobody'
  | 'availableDrivers'
  | 'carriedBy'
  | 'carry'
  | 'hasRoomBeside'
  | 'setStep'
  | 'shownMeters'
  | 'slotOf'
  | 'sortByClaim'
  | 'beginCreditRead'
  | 'endCreditRead'
  | 'fairStart'
  | 'forgetShares'
  | 'heldCount'
  | 'isAvailable'
  | 'isLater'
  | 'isWatched'
  | 'laterCount'
  | 'laterCountOf'
  | 'laterIds'
  | 'nextDueMs'
  | 'noteAssigned'
  | 'planned'
  | 'rejectedCandidates'
  | 'rejectedCandidatesFor'
  | 'tier'
  | 'waitingByClaim'
  | 'waitingOrdersOf'
  | 'wake'
  | 'watchedRetailers'
  | 'whenNextDueChanges'
>;

/** The matcher as its documentation reads: every answer looks at every driver and every order. */
export class BruteForce implements MatcherFace {
  readonly known = new Map<string, Known>();
  readonly orders = new Map<string, WaitingOrder>();
  readonly inFlight = new Map<string, string>();
  readonly holds = new Map<string, StoreHold>();
  tiers: Tiers;

  constructor(tiers: Tiers) {
    this.tiers = tiers;
  }

  setTiers(tiers: Tiers): void {
    this.tiers = tiers;
  }

  putDriver(driver: FleetDriver): void {
    const before = this.known.get(driver.id)?.position ?? null;
    const keeps = before !== null && (driver.position === null || driver.position.atMs < before.atMs);
    const { carried, ...known } = driver;
    const orderId = carried[0]?.orderId ?? null;
    const position = keeps ? before : driver.position;
    this.known.set(driver.id, { ...known, position, orderId, setAsideUntil: undefined });
  }

  putDrivers(drivers: readonly FleetDriver[]): void {
    for (const driver of drivers) this.putDriver(driver);
  }

  removeDriver(id: string): boolean {
    return this.known.delete(id);
  }

  moveDriver(id: string, point: Point, atMs: number): boolean {
    const driver = this.known.get(id);
    if (!driver || (driver.position && atMs < driver.position.atMs)) return false;
    driver.position = { lat: point.lat, lng: point.lng, atMs };
    if (driver.setAsideUntil !== undefined && atMs >= driver.setAsideUntil) driver.setAsideUntil = undefined;
    return true;
  }

  driver(id: string): FleetDriver | undefined {
    const driver = this.known.get(id);
    if (!driver) return undefined;
    const { setAsideUntil: _, orderId, ...told } = driver;
    return { ...told, carried: orderId === null ? [] : [carrying(orderId)] };
  }

  driverIds(): Iterable<string> {
    return this.known.keys();
  }

  holderOf(orderId: string): string | undefined {
    return [...this.known.values()].find((driver) => driver.orderId === orderId)?.id;
  }

  driverCount(): number {
    return this.known.size;
  }

  onDutyCount(): number {
    return this.count((driver) => driver.onDuty);
  }

  freeCount(): number {
    return this.count((driver) => this.isFree(driver));
  }

  nearest(query: DriverQuery): FoundDriver | undefined {
    const found = [...this.known.values()]
      .filter((driver) => this.isAvailable(driver, query.tierId, query.nowMs) && !query.exclude?.has(driver.id))
      .map((driver) => ({ driver, chord: chord(query.point, driver.position as Point) }))
      .sort(
        (a, b) => a.chord - b.chord || a.driver.freeSinceMs - b.driver.freeSinceMs || byText(a.driver.id, b.driver.id),
      )
      .at(0)?.driver;
    if (!found) return undefined;
    const meters = distanceMeters(query.point, found.position as Point);
    return meters <= query.radiusMeters ? { driverId: found.id, distanceMeters: meters } : undefined;
  }

  claimNearest(query: DriverQuery & NewClaim): ClaimedDriver | undefined {
    const { retailerId = '' } = query;
    const found = this.holdOf(retailerId) === null ? this.nearest(query) : undefined;
    if (!found) return undefined;
    this.claim(found.driverId, query.orderId);
    this.takeCredit(retailerId);
    return { ...found, slot: 0 };
  }

  setHold(hold: StoreHold): void {
    this.holds.set(hold.retailerId, hold);
  }

  endHold(retailerId: string): void {
    this.holds.delete(retailerId);
  }

  holdOf(retailerId: string): HoldReason | null {
    return this.holds.get(retailerId)?.reason ?? null;
  }

  private takeCredit(retailerId: string): void {
    const hold = this.holds.get(retailerId);
    if (!hold || hold.reason !== null) return;
    const credit = hold.credit - 1;
    this.holds.set(retailerId, { ...hold, credit, reason: credit > 0 ? null : 'payment_required' });
  }

  private isHeld(order: WaitingOrder): boolean {
    const reason = this.holdOf(order.retailerId);
    return reason === 'store_suspended' || (reason === 'payment_required' && !order.isCharged);
  }

  claim(id: string, order: string | { readonly orderId: string }): boolean {
    const orderId = typeof order === 'string' ? order : order.orderId;
    const driver = this.known.get(id);
    if (!driver || (driver.orderId !== null && driver.orderId !== orderId)) return false;
    if (driver.orderId === null) driver.setAsideUntil = undefined;
    driver.orderId = orderId;
    return true;
  }

  release(id: string, nowMs: number, orderId: string): boolean {
    const driver = this.known.get(id);
    if (!driver) return false;
    if (driver.orderId === null && driver.setAsideUntil === undefined) return false;
    if (driver.orderId !== null && driver.orderId !== orderId) return false;
    Object.assign(driver, { orderId: null, setAsideUntil: undefined, freeSinceMs: nowMs });
    return true;
  }

  setAside(id: string, orderId: string, nowMs: number): boolean {
    const driver = this.known.get(id);
    if (driver?.orderId !== orderId) return false;
    Object.assign(driver, { orderId: null, setAsideUntil: nowMs + SET_ASIDE_MS });
    return true;
  }

  wait(order: WaitingOrder): void {
    this.orders.set(order.orderId, order);
  }

  unwait(orderId: string): boolean {
    return this.orders.delete(orderId);
  }

  waitingCount(): number {
    return this.orders.size;
  }

  waitingCountOf(retailerId: string): number {
    return [...this.orders.values()].filter((order) => order.retailerId === retailerId).length;
  }

  isWaiting(orderId: string): boolean {
    return this.orders.has(orderId);
  }

  waitingOrder(orderId: string): WaitingOrder | undefined {
    return this.orders.get(orderId);
  }

  waitingOrders(): IterableIterator<WaitingOrder> {
    return this.orders.values();
  }

  bestWaitingFor(driverId: string, nowMs: number): FoundOrder | undefined {
    const driver = this.known.get(driverId);
    if (!driver) return undefined;
    return [...this.orders.values()]
      .filter((order) => this.isAvailable(driver, order.tierId, nowMs) && !this.inFlight.has(order.orderId))
      .filter((order) => !order.excludedDriverIds?.has(driverId) && !this.isHeld(order))
      .map((order) => ({ order, distanceMeters: distanceMeters(order.point, driver.position as Point) }))
      .filter(({ order, distanceMeters }) => distanceMeters <= this.radiusOf(order, nowMs))
      .map((found) => ({ ...found, ...this.worthOf(found.order, found.distanceMeters, nowMs) }))
      .sort(
        (a, b) =>
          b.hoursLate - a.hoursLate ||
          a.minutes - b.minutes ||
          a.distanceMeters - b.distanceMeters ||
          byText(a.order.orderId, b.order.orderId),
      )
      .map(({ order, distanceMeters }) => ({ orderId: order.orderId, distanceMeters }))
      .at(0);
  }

  bestDriverFor(orderId: string, nowMs: number, alsoExclude?: ReadonlySet<string>): FoundDriver | undefined {
    const order = this.orders.get(orderId);
    if (!order || !this.tiers.has(order.tierId) || this.inFlight.has(orderId)) return undefined;
    if (this.isHeld(order)) return undefined;
    const exclude = new Set([...(order.excludedDriverIds ?? []), ...(alsoExclude ?? [])]);
    return this.nearest({ ...order, nowMs, exclude, radiusMeters: this.radiusOf(order, nowMs) });
  }

  beginAssign(orderId: string, driverId: string, nowMs: number): boolean {
    const driver = this.known.get(driverId);
    const order = this.orders.get(orderId);
    if (!order || this.inFlight.has(orderId) || !driver || this.isHeld(order)) return false;
    if (!this.isAvailable(driver, order.tierId, nowMs) || order.excludedDriverIds?.has(driverId)) return false;
    if (distanceMeters(order.point, driver.position as Point) > this.radiusOf(order, nowMs)) return false;
    driver.orderId = orderId;
    this.inFlight.set(orderId, driverId);
    if (!order.isCharged) this.takeCredit(order.retailerId);
    return true;
  }

  endAssign(orderId: string, outcome: AssignOutcome, nowMs: number): boolean {
    const driverId = this.inFlight.get(orderId);
    if (driverId === undefined) return false;
    this.inFlight.delete(orderId);
    const driver = this.known.get(driverId);
    if (outcome === 'driver_lost') this.setAside(driverId, orderId, nowMs);
    else if (outcome !== 'held') this.orders.delete(orderId);
    if (outcome === 'assigned' && driver) Object.assign(driver, { orderId, setAsideUntil: undefined });
    const isFreed = outcome === 'order_gone' || outcome === 'held';
    if (isFreed && driver?.orderId === orderId) driver.orderId = null;
    return true;
  }

  whyWaiting(orderId: string): WaitReason | HoldReason | undefined {
    const order = this.orders.get(orderId);
    if (!order) return undefined;
    if (this.isHeld(order)) return this.holdOf(order.retailerId) ?? undefined;
    if (this.onDutyCount() === 0) return 'no_driver_on_duty';
    const qualified = [...this.known.values()].filter((driver) => driver.onDuty && this.serves(driver, order.tierId));
    if (qualified.length === 0) return 'none_qualified';
    const fit = qualified.filter(({ vehicle = 'car' }) => carries(vehicle, order.size ?? 'small'));
    if (fit.length === 0) return 'no_vehicle';
    const gaveBack = (driver: { readonly id: string }) => order.excludedDriverIds?.has(driver.id) === true;
    if (fit.every(gaveBack)) return 'given_back';
    const free = fit.filter((driver) => this.isFree(driver));
    if (free.every(gaveBack)) return 'all_drivers_busy';
    return free.some(gaveBack) ? 'given_back' : 'none_in_radius';
  }

  /** The whole steps of a late order's claim, and the minutes that an order costs. */
  private worthOf(order: WaitingOrder, meters: number, nowMs: number) {
    const waitedMs = Math.max(0, nowMs - (order.fairStartMs ?? order.sinceMs));
    const claim = waitedMs * (this.tiers.get(order.tierId) as Tier).weight;
    const hoursLate = claim >= AGE_DECIDES_MS ? Math.floor(claim / AGE_STEP_MS) : 0;
    return { hoursLate, minutes: meters / WAY_METERS_PER_MINUTE - WAIT_FACTOR * (claim / 60_000) };
  }

  private radiusOf(order: WaitingOrder, nowMs: number): number {
    return radiusAfter(this.tiers.get(order.tierId) as Tier, nowMs - order.sinceMs);
  }

  private count(which: (driver: Known) => boolean): number {
    return [...this.known.values()].filter(which).length;
  }

  private isFree(driver: Known): boolean {
    return driver.onDuty && driver.orderId === null && driver.setAsideUntil === undefined;
  }

  private isAvailable(driver: Known, tierId: TierId, nowMs: number): boolean {
    if (!this.isFree(driver) || !this.serves(driver, tierId) || driver.position === null) return false;
    return nowMs - driver.position.atMs <= POSITION_FRESH_MS;
  }

  private serves(driver: Known, tierId: TierId): boolean {
    return this.tiers.has(tierId) && driver.tierIds.includes(tierId);
  }
}

const pair = new Float64Array(6);
function chord(a: Point, b: Point): number {
  writeVector(a.lat, a.lng, pair, 0);
  writeVector(b.lat, b.lng, pair, 3);
  return chordSquared(pair, 0, pair, 3);
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
