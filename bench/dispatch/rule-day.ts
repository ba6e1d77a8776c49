import type { Tier } from '../../src/domain/tier.ts';
import type { Point } from '../../src/geo/point.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { offset } from '../../test/harness/world.ts';
import { setDuty } from '../../test/matcher/carrying.ts';
import type { Courier, Instance, Ordered, Place } from './instance.ts';

/** When an order was at its door, in minutes from its placing; null where that did not happen within the day. */
export type Fate = {
  readonly order: Ordered;
  readonly doorAfter: number | null;
};

const MINUTE_MS = 60_000;
const START_MS = 1_700_000_000_000;
const ORIGIN: Point = { lat: 40, lng: -90 };
/** Interval at which drivers report. */
const REPORT_MINUTES = 0.5;

/**
 * Replays a day with the real matcher, in virtual time: a new order goes to the nearest available driver at
 * once or waits; a driver who becomes free, comes on duty or reports takes a waiting order by the matcher's
 * rule. Couriers drive straight lines in whole minutes, wait until the order is ready, and spend the
 * instance's service times at the store and at the door. One who goes off duty ends the order they carry.
 */
export class Day {
  readonly #instance: Instance;
  readonly #tier: Tier;
  readonly #matcher: Matcher;
  readonly #orders = new Map<string, Ordered>();
  readonly #waiting = new Set<string>();
  readonly #places = new Map<string, Place>();
  readonly #fates = new Map<string, Fate>();
  readonly #agenda = new Agenda();
  #now = 0;
  /** What all couriers drove. */
  meters = 0;

  /** @param tier the tier of every order */
  constructor(instance: Instance, tier: Tier) {
    this.#instance = instance;
    this.#tier = tier;
    this.#matcher = new Matcher(new Map([[tier.id, tier]]));
  }

  run(): Fate[] {
    const { orders, couriers } = this.#instance;
    for (const courier of couriers) {
      this.#agenda.add(courier.onAt, () => this.#comeOn(courier));
      this.#agenda.add(courier.offAt, () => setDuty(this.#matcher, courier.id, false, this.#nowMs()));
    }
    for (const order of orders) this.#agenda.add(order.placedAt, () => this.#place(order));
    const endAt = Math.max(...couriers.map(({ offAt }) => offAt));
    for (let at = 0; at < endAt; at += REPORT_MINUTES) this.#agenda.add(at, () => this.#report());
    for (let event = this.#agenda.next(); event; event = this.#agenda.next()) {
      this.#now = event.at;
      event.happen();
    }
    return orders.map((order) => this.#fates.get(order.id) ?? { order, doorAfter: null });
  }

  #nowMs(): number {
    return START_MS + this.#now * MINUTE_MS;
  }

  #place(order: Ordered): void {
    this.#orders.set(order.id, order);
    const nowMs = this.#nowMs();
    const point = pointOf(order.pickup);
    const { radiusMeters, id: tierId } = this.#tier;
    const found = this.#matcher.claimNearest({ tierId, point, radiusMeters, nowMs, orderId: order.id });
    if (found) {
      this.#drive(order, found.driverId);
      return;
    }
    const fairStartMs = this.#matcher.fairStart(order.store, nowMs);
    this.#matcher.wait({ orderId: order.id, retailerId: order.store, tierId, point, sinceMs: nowMs, fairStartMs });
    this.#waiting.add(order.id);
  }

  #comeOn({ id, start }: Courier): void {
    const position = { ...pointOf(start), atMs: this.#nowMs() };
    this.#places.set(id, start);
    const tierIds = [this.#tier.id];
    this.#matcher.putDriver({ id, tierIds, onDuty: true, position, freeSinceMs: this.#nowMs(), carried: [] });
    this.#look(id);
  }

  /** Every driver on duty reports; a free one may have come into reach of an order. */
  #report(): void {
    for (const [id, place] of this.#places) {
      this.#matcher.moveDriver(id, pointOf(place), this.#nowMs());
      if (this.#waiting.size > 0) this.#look(id);
    }
  }

  #look(driverId: string): void {
    const found = this.#matcher.bestWaitingFor(driverId, this.#nowMs());
    if (!found) return;
    this.#matcher.beginAssign(found.orderId, driverId, this.#nowMs());
    this.#matcher.endAssign(found.orderId, 'assigned', this.#nowMs());
    this.#waiting.delete(found.orderId);
    this.#drive(this.#orders.get(found.orderId) as Ordered, driverId);
  }

  #drive(order: Ordered, driverId: string): void {
    const { pickupMinutes, dropoffMinutes } = this.#instance;
    const from = this.#places.get(driverId) as Place;
    this.meters += metersBetween(from, order.pickup) + metersBetween(order.pickup, order.dropoff);
    const arrivesAt = this.#now + this.#minutesBetween(from, order.pickup);
    const leavesAt = Math.max(arrivesAt, order.readyAt) + pickupMinutes;
    const endsAt = leavesAt + this.#minutesBetween(order.pickup, order.dropoff) + dropoffMinutes;
    this.#fates.set(order.id, { order, doorAfter: endsAt - order.placedAt });
    this.#agenda.add(endsAt, () => {
      this.#places.set(driverId, order.dropoff);
      this.#matcher.moveDriver(driverId, pointOf(order.dropoff), this.#nowMs());
      this.#matcher.release(driverId, this.#nowMs(), order.id);
      this.#look(driverId);
    });
  }

  #minutesBetween(from: Place, to: Place): number {
    return Math.ceil(metersBetween(from, to) / this.#instance.metersPerMinute);
  }
}

const metersBetween = (from: Place, to: Place) => Math.hypot(from.x - to.x, from.y - to.y);

const pointOf = ({ x, y }: Place): Point => offset(ORIGIN, y, x);

type Event = { readonly at: number; readonly happen: () => void };

/** What is to happen, by time and then in the order in which it was added. */
class Agenda {
  readonly #events: Event[] = [];

  add(at: number, happen: () => void): void {
    let [low, high] = [0, this.#events.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle] as Event).at <= at) low = middle + 1;
      else high = middle;
    }
    this.#events.splice(low, 0, { at, happen });
  }

  next(): Event | undefined {
    return this.#events.shift();
  }
}
