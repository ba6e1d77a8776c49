import { below } from '../../src/limits.ts';
import type { Knowledge } from './knowledge.ts';
import {
  type At,
  type DriverRow,
  isQualified,
  metersBetween,
  type OrderRow,
  type Picture,
  type TierRow,
} from './picture.ts';

/** A free driver so near is there in 12 minutes; a bike is half as fast. */
const NEAR_METERS = 3_500;
/**
 * Longest wait of an order while such a driver is there and free the whole time, and not kept for an order that is
 * ready later. A busy driver who will be there sooner may be waited for; the free one would take less than this.
 */
export const GIVEN_MS = 15 * 60_000;
/** An order of a tier that is not planned is given at the next sweep, at the latest. */
export const GIVEN_AT_ONCE_MS = 90_000;
/** The longest wait that is judged: a day waits for it at its end. Above GIVEN_MS. */
export const GIVEN_LAST_MS = 60 * 60_000;

below({ GIVEN_MS }, { GIVEN_LAST_MS });

/**
 * By so much longer than a way of a free driver an order may wait for busy ones: their minutes on the road count less
 * than the customer's, but not nothing, and who comes later than first expected may come as much later again.
 */
const WAITED_FOR = 1.5;
/** No vehicle but a bike is slower than this, in meters a minute as the crow flies. */
const SLOWEST = 300;
/** Time at a store and at a door. */
const STOPS_MS = 5 * 60_000;
/** By so much a trip ends before the shift, or before a promise, where it surely does. */
const SURELY_MS = 3 * 60_000;
/** Distance from a store within which a driver stands there. */
const THERE_METERS = 100;
/** What rounding may take from a radius. */
const SLACK_METERS = 20;
/** A sweep that expires what is over comes in this time. */
const EXPIRED_MS = 90_000;
/** Both processes have heard of the driver in this time. */
const HEARD_MS = 45_000;

/** An order beside a driver who could take it: since when, and by when it has to be given. */
type Chance = { readonly sinceMs: number; readonly mostMs: number; readonly untilMs: number };

/** Watches that who could be given is given. */
export class Liveness {
  readonly #knowledge: Knowledge;
  readonly #processes: readonly number[];
  /** By order and driver. */
  #chances = new Map<string, Chance>();

  constructor(knowledge: Knowledge, processes: readonly number[]) {
    this.#knowledge = knowledge;
    this.#processes = processes;
  }

  /** Whether something waits beside somebody who could take it. */
  get isWatching(): boolean {
    return this.#chances.size > 0;
  }

  /** Looks at the tables; returns what waits for too long, as a sentence. */
  look(picture: Picture, tiers: ReadonlyMap<string, TierRow>, nowMs: number): string | null {
    const chances = new Map<string, Chance>();
    const waiting = picture.orders.filter(({ status }) => status === 'pending_dispatch');
    const laterCount = waiting.filter((order) => !isReady(order, nowMs)).length;
    for (const order of waiting) {
      if (order.expiresMs < nowMs - EXPIRED_MS) return `not_expired: order ${order.id}, whose time is up`;
      const tier = tiers.get(order.tier);
      if (!tier || !isReady(order, nowMs)) continue;
      const able = picture.drivers.flatMap((driver) => this.#ableFor(driver, order, tier, picture, nowMs));
      // Somebody may be kept for an order that is ready soon.
      if (able.length <= laterCount) continue;
      for (const { id, mostMs, what } of able) {
        const key = `${order.id} ${id}`;
        const chance = chanceOf(this.#chances.get(key), mostMs, nowMs);
        chances.set(key, chance);
        if (nowMs <= chance.untilMs) continue;
        const seconds = (nowMs - chance.sinceMs) / 1_000;
        return `not_given: order ${order.id} waits for ${seconds} s beside driver ${id}, who ${what}`;
      }
    }
    this.#chances = chances;
    return null;
  }

  /** Begins anew, as something is in the way. */
  forget(): void {
    this.#chances.clear();
  }

  /** A driver who could take an order, and how long it may wait beside them; nothing for any other. */
  #ableFor(
    driver: DriverRow,
    order: OrderRow,
    tier: TierRow,
    { orders }: Picture,
    nowMs: number,
  ): { readonly id: string; readonly mostMs: number; readonly what: string }[] {
    const { id, onDuty, untilMs, vehicle } = driver;
    if (!onDuty || !isQualified(driver, order) || order.excluded.includes(id)) return [];
    const meters = this.#metersFrom(id, order.pickup, nowMs);
    if (meters === null || meters > reachOf(order, tier, nowMs)) return [];
    const carried = orders.filter(({ driverId }) => driverId === id);
    const endsMs = nowMs + wayMs(meters, vehicle) + tripMs(order, carried, vehicle) + SURELY_MS;
    if (untilMs !== null && endsMs > untilMs) return [];
    if (carried.length > 0) {
      if (!takesAlong(driver, carried, order, meters, nowMs)) return [];
      if ([order, ...carried].some(({ deliverByMs }) => endsMs > deliverByMs)) return [];
    }
    // Who carries something comes to this door last, and who brings nothing else may be there sooner.
    const laterMs = carried.length > 0 ? tripMs(order, carried, vehicle) : wayMs(meters, vehicle);
    const mostMs = tier.mode === 'planned' ? GIVEN_MS + WAITED_FOR * Math.max(0, laterMs - NEAR_MS) : GIVEN_AT_ONCE_MS;
    const what = carried.length > 0 ? `has room beside ${carried.length}` : 'is free';
    return mostMs <= GIVEN_LAST_MS ? [{ id, mostMs, what: `${what}, ${Math.round(meters)} m away` }] : [];
  }

  /** How far from a place a driver is, by what all processes know by now; null where one has not heard of them. */
  #metersFrom(id: string, place: At, nowMs: number): number | null {
    const all = this.#processes.map((process) => {
      const at = this.#knowledge.positionsOf(process, id, nowMs).at(-1);
      return at && at.atMs > nowMs - HEARD_MS ? metersBetween(at, place) : Number.POSITIVE_INFINITY;
    });
    const most = Math.max(...all);
    return most < Number.POSITIVE_INFINITY ? most : null;
  }
}

const wayMs = (meters: number, vehicle: string): number =>
  (meters / (vehicle === 'bike' ? SLOWEST / 2 : SLOWEST)) * 60_000;
const NEAR_MS = wayMs(NEAR_METERS, 'car');

/** From the store to the door, behind the doors of what is carried. */
function tripMs(order: OrderRow, carried: readonly OrderRow[], vehicle: string): number {
  let at = order.pickup;
  let ms = 0;
  for (const { door } of [...carried, order]) {
    ms += wayMs(door ? metersBetween(at, door) : 0, vehicle) + STOPS_MS;
    at = door ?? at;
  }
  return ms;
}

/**
 * Whether a driver who fetches something at this store, and stands there, takes more along. Left out are those with a
 * parcel on board, who are on the way to its door and take more behind it alone; those whose parcel is not ready,
 * as they are told when it soon is; and what would make any promise late, as nobody has to.
 */
function takesAlong(
  { capacity }: DriverRow,
  carried: readonly OrderRow[],
  order: OrderRow,
  meters: number,
  nowMs: number,
): boolean {
  if (meters > THERE_METERS || carried.length >= capacity || order.door === null) return false;
  return carried.every(
    ({ status, slot, retailerId, readyMs, door }) =>
      status === 'driver_assigned' &&
      (slot ?? 0) < capacity &&
      retailerId === order.retailerId &&
      (readyMs ?? 0) <= nowMs &&
      door !== null,
  );
}

/** The deadline holds while the driver makes no way, or comes nearer; it begins anew where they go away. */
function chanceOf(known: Chance | undefined, mostMs: number, nowMs: number): Chance {
  if (!known || mostMs > known.mostMs) return { sinceMs: nowMs, mostMs, untilMs: nowMs + mostMs };
  return { ...known, mostMs, untilMs: Math.min(known.untilMs, nowMs + mostMs) };
}

function reachOf({ createdMs, dispatchFromMs }: OrderRow, { radius, growth, most }: TierRow, nowMs: number): number {
  const waitedMinutes = Math.max(0, nowMs - (dispatchFromMs ?? createdMs)) / 60_000;
  return Math.min(most, radius + growth * waitedMinutes) - SLACK_METERS;
}

function isReady(order: OrderRow, nowMs: number): boolean {
  const { dispatchFromMs, readyMs, deliverAfterMs, expiresMs, isStoreActive } = order;
  const isOpen = [dispatchFromMs, readyMs, deliverAfterMs].every((ms) => (ms ?? 0) <= nowMs);
  return isOpen && expiresMs > nowMs && isStoreActive;
}
