import { describe, expect, it } from 'vitest';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import { createRedispatch } from '../../src/dispatch/redispatch.ts';
import { radiusAfter, type Tier, type TierId, type Tiers } from '../../src/domain/tier.ts';
import { distanceMeters, type Point } from '../../src/geo/point.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { createLogger } from '../../src/telemetry.ts';
import { displaced } from '../geo/places.ts';
import { randomFrom } from '../matcher/world.ts';

/*
 * How long an order can wait.
 *
 * A driver takes the order with the greatest waited × weight in their reach. Let order X of weight a have
 * waited w. An order Y of weight b goes before X only if it has waited at least w·a/b. It follows:
 *
 *   (1) An order of no greater weight that arrives after X never goes before X. One of greater weight does so
 *       only if it arrives within the first w·(1 − a/b) of X's wait: three quarters of it for priority (4)
 *       before standard (1). Any later order comes after X.
 *   (2) When a priority order goes before a standard order, the latter has waited at most 4 times as long.
 *
 * Let B orders wait when X arrives. Let drivers in its reach become free at a rate f, and priority orders
 * arrive at a rate p. By (1) the drivers who become free during the wait W of X serve only the B and at most
 * p·W·¾ others: f·W ≤ B + ¾·p·W, so
 *
 *   (3) W ≤ B / (f − ¾·p), finite as long as priority orders alone do not take four thirds of all drivers,
 *
 * and a priority order waits at most B / f. An order in a corner first waits for its radius to reach the
 * drivers, a time G that the tier bounds. Its claim grows meanwhile: W ≤ (B + f·G) / (f − ¾·p).
 * If more orders arrive than drivers can carry, B grows, and with it every wait. Then the number of waiting
 * orders is bounded and not the time; (1) and (2) still hold.
 */

const MINUTE = 60_000;
const CENTRE: Point = { lat: 39.95, lng: -75.16 };
const CORNER: Point = displaced(CENTRE, 8_000, 8_000);
/** Half the side of the town. */
const HALF_METERS = 8_000;
/**
 * Interval at which idle drivers report. An order whose radius reaches them is matched at the next report.
 */
const REPORT_MS = 10_000;

/** The tiers of a new installation. */
const TIERS: Tiers = new Map(
  [
    tier('standard', 8_000, 1_000, 25_000, 1),
    tier('priority', 12_000, 2_000, 40_000, 4),
    tier('scheduled', 8_000, 1_000, 25_000, 1),
  ].map((each) => [each.id, each]),
);

function tier(id: TierId, radiusMeters: number, growth: number, maxRadiusMeters: number, weight: number): Tier {
  const money = { feeCents: 799, payoutCents: 550, maxWaitSeconds: 86_400, maxDistanceMeters: 40_000 };
  return { id, ...money, radiusMeters, radiusGrowthMetersPerMinute: growth, maxRadiusMeters, weight };
}
const tierOf = (id: TierId): Tier => TIERS.get(id) as Tier;

type Order = {
  readonly id: string;
  readonly tierId: TierId;
  readonly point: Point;
  readonly sinceMs: number;
  /** Orders that waited at its arrival. */
  readonly ahead: number;
};
type Town = {
  readonly seed: number;
  readonly hours: number;
  readonly drivers: number;
  /** Orders that wait when the day begins, all of the same age. */
  readonly backlog: number;
  /** Orders a minute in each hour; the last figure goes on. */
  readonly arrivals: readonly number[];
  /** Shares of the arriving orders. */
  readonly priority: number;
  readonly scheduled: number;
};

/**
 * A day in a town with a hot spot and a store in a far corner, in virtual time, with the real matcher and
 * redispatch.
 */
class Simulation {
  readonly waits: { readonly order: Order; readonly waitedMs: number }[] = [];
  /** Violations of (1) and (2). */
  readonly unfair: string[] = [];
  freed = 0;
  mostWaiting = 0;
  readonly #town: Town;
  readonly #random: () => number;
  readonly #matcher = new Matcher(TIERS);
  readonly #waiting = new Map<string, Order>();
  readonly #events: { readonly atMs: number; readonly happen: () => Promise<unknown> }[] = [];
  #nowMs = 1_700_000_000_000;
  #orders = 0;
  readonly #redispatch = createRedispatch({
    store: {
      assignWaiting: async (orderId, { driverId }) => {
        this.#given(orderId, driverId);
        return { kind: 'assigned', outbox: [] };
      },
      expireOrder: async () => null,
      expireSurplus: async () => [],
      forgetExpired: async () => undefined,
    },
    matcher: this.#matcher,
    fleet: { refreshDrivers: async () => undefined, refreshOrders: async () => [], markStale: () => undefined },
    unknownOutcomes: { watch: (_orderId, write) => write },
    relay: { relay: () => undefined },
    events: new OrderEvents(),
    clock: { now: () => this.#nowMs },
    logger: createLogger('silent'),
  });

  constructor(town: Town) {
    this.#town = town;
    this.#random = randomFrom(town.seed);
  }

  async run(): Promise<void> {
    const town = this.#town;
    const startMs = this.#nowMs;
    for (let i = 0; i < town.backlog; i++) this.#arrive(town.backlog);
    for (let i = 0; i < town.drivers; i++) this.#addDriver(`driver-${i}`);
    this.#at(startMs, () => this.#nextArrival(startMs));
    const endMs = startMs + town.hours * 60 * MINUTE;
    for (;;) {
      const event = this.#events.shift();
      if (!event || event.atMs > endMs) break;
      this.#nowMs = event.atMs;
      await event.happen();
      this.mostWaiting = Math.max(this.mostWaiting, this.#waiting.size);
    }
    this.#nowMs = endMs;
    // Orders that still wait have waited at least as long.
    for (const order of this.#waiting.values()) this.waits.push({ order, waitedMs: endMs - order.sinceMs });
  }

  count(tierId: TierId): number {
    return this.waits.filter(({ order }) => order.tierId === tierId).length;
  }

  /** Orders that more others overtook than (1) allows, counted from when all drivers were in their reach. */
  handedPast(): string[] {
    const handed = this.waits.map(({ order, waitedMs }) => order.sinceMs + waitedMs);
    return this.waits.flatMap(({ order, waitedMs }) => {
      const { weight } = tierOf(order.tierId);
      const [reachedMs, givenMs] = [
        order.sinceMs + growthMs(tierOf(order.tierId)) + REPORT_MS,
        order.sinceMs + waitedMs,
      ];
      const past = handed.filter((atMs) => atMs > reachedMs && atMs < givenMs).length;
      const overtaking = this.waits.filter(({ order: { tierId, sinceMs } }) => {
        const share = 1 - weight / tierOf(tierId).weight;
        return sinceMs >= order.sinceMs && sinceMs <= order.sinceMs + waitedMs * share && share > 0;
      }).length;
      return past > order.ahead + overtaking ? `${order.id}: ${past} > ${order.ahead} + ${overtaking}` : [];
    });
  }

  longestMs(tierId: TierId): number {
    return Math.max(0, ...this.waits.map(({ order, waitedMs }) => (order.tierId === tierId ? waitedMs : 0)));
  }

  #at(atMs: number, happen: () => Promise<unknown>): void {
    let place = this.#events.length;
    while (place > 0 && (this.#events[place - 1] as { atMs: number }).atMs > atMs) place--;
    this.#events.splice(place, 0, { atMs, happen });
  }

  /** A random number, exponentially distributed with this mean. */
  #some(meanMs: number): number {
    return -Math.log(1 - this.#random()) * meanMs;
  }

  async #nextArrival(startMs: number): Promise<void> {
    const { arrivals } = this.#town;
    const hour = Math.floor((this.#nowMs - startMs) / (60 * MINUTE));
    const perMinute = arrivals[Math.min(hour, arrivals.length - 1)] as number;
    this.#at(this.#nowMs + this.#some(MINUTE / perMinute), () => this.#nextArrival(startMs));
    const order = this.#arrive();
    await this.#redispatch.matchOrder(order.id);
  }

  #arrive(ahead = this.#waiting.size): Order {
    const kind = this.#random();
    const { priority, scheduled } = this.#town;
    const tierId = kind < priority ? 'priority' : kind < priority + scheduled ? 'scheduled' : 'standard';
    const order = { id: `order-${this.#orders++}`, tierId, point: this.#store(), sinceMs: this.#nowMs, ahead } as const;
    this.#waiting.set(order.id, order);
    this.#matcher.wait({ orderId: order.id, retailerId: 'store', ...order });
    return order;
  }

  /** Most stores are downtown, a few anywhere, and one in the corner. */
  #store(): Point {
    const where = this.#random();
    if (where < 0.01) return CORNER;
    return where < 0.7 ? this.#around(1_000) : this.#around(HALF_METERS);
  }

  #around(meters: number): Point {
    return displaced(CENTRE, (this.#random() * 2 - 1) * meters, (this.#random() * 2 - 1) * meters);
  }

  #addDriver(id: string): void {
    const position = { ...this.#around(HALF_METERS), atMs: this.#nowMs };
    const tierIds: TierId[] = ['standard', 'priority', 'scheduled'];
    this.#matcher.putDriver({ id, tierIds, onDuty: true, freeSinceMs: this.#nowMs, orderId: null, position });
    this.#at(this.#nowMs, () => this.#look(id));
  }

  /** A delivery takes 10 to 30 minutes; then the driver is free, mostly downtown. */
  #given(orderId: string, driverId: string): void {
    const order = this.#waiting.get(orderId) as Order;
    this.#waiting.delete(orderId);
    this.waits.push({ order, waitedMs: this.#nowMs - order.sinceMs });
    this.#judge(order, driverId);
    this.#at(this.#nowMs + (10 + this.#random() * 20) * MINUTE, async () => {
      this.freed++;
      const place = this.#random() < 0.8 ? this.#around(2_000) : this.#around(HALF_METERS);
      this.#matcher.moveDriver(driverId, place, this.#nowMs);
      this.#matcher.release(driverId, this.#nowMs, orderId);
      await this.#look(driverId);
    });
  }

  async #look(driverId: string): Promise<void> {
    const driver = this.#matcher.driver(driverId);
    if (driver?.orderId !== null || !driver.position) return;
    this.#matcher.moveDriver(driverId, driver.position, this.#nowMs);
    await this.#redispatch.matchDriver(driverId);
    if (this.#matcher.driver(driverId)?.orderId === null) {
      this.#at(this.#nowMs + REPORT_MS, () => this.#look(driverId));
    }
  }

  /** Every order that goes on waiting in this driver's reach must have a weaker claim. */
  #judge(given: Order, driverId: string): void {
    const place = this.#matcher.driver(driverId)?.position as Point;
    const claim = (order: Order) => (this.#nowMs - order.sinceMs) * tierOf(order.tierId).weight;
    for (const order of this.#waiting.values()) {
      if (claim(order) <= claim(given)) continue;
      const reach = radiusAfter(tierOf(order.tierId), this.#nowMs - REPORT_MS - order.sinceMs);
      if (distanceMeters(order.point, place) <= reach) this.unfair.push(`${given.id} went before ${order.id}`);
    }
  }
}

/** 60 drivers at 20 minutes an order carry 3 orders a minute. */
const DRIVERS = 60;
const CAPACITY = 3;
/** Time until the radius of an order in the corner reaches every driver. */
const growthMs = ({ radiusMeters, radiusGrowthMetersPerMinute: growth }: Tier) =>
  ((Math.hypot(2 * HALF_METERS, 2 * HALF_METERS) - radiusMeters) / growth) * MINUTE;

describe('no order waits longer than its weight says', () => {
  it.each([
    ['as much comes as drivers can carry, half of it priority', [CAPACITY], 0.5],
    ['nearly all that comes is priority', [CAPACITY], 0.95],
    ['twice as much comes for two hours', [2 * CAPACITY, 2 * CAPACITY, 0.8 * CAPACITY], 0.5],
    ['priority takes all that drivers can carry, and half as much comes on top', [1.5 * CAPACITY], 2 / 3],
  ])('where %s', async (_what, arrivals, priority) => {
    const town = { seed: 7, hours: 12, drivers: DRIVERS, backlog: 120, arrivals, priority, scheduled: 0.02 };
    const simulation = new Simulation(town);
    await simulation.run();

    expect(simulation.unfair).toEqual([]);
    expect(simulation.handedPast()).toEqual([]);
    const dayMs = town.hours * 60 * MINUTE;
    const [freed, came] = [simulation.freed / dayMs, simulation.count('priority') / dayMs];
    for (const tierId of ['standard', 'scheduled', 'priority'] as const) {
      const overtaking = tierId === 'priority' ? 0 : 0.75 * came;
      const boundMs = (simulation.mostWaiting + freed * growthMs(tierOf(tierId))) / (freed - overtaking);
      expect(simulation.longestMs(tierId), tierId).toBeLessThan(boundMs);
    }
    // Priority orders wait all the time here, so (2) bounds the waits of the others by theirs.
    for (const tierId of ['standard', 'scheduled'] as const) {
      expect(simulation.longestMs(tierId)).toBeGreaterThan(0);
      expect(simulation.longestMs(tierId)).toBeLessThan(
        4 * simulation.longestMs('priority') + growthMs(tierOf(tierId)),
      );
    }
  });
});
