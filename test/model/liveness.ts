import type { Knowledge } from './knowledge.ts';
import { type DriverRow, isQualified, metersBetween, type OrderRow, type Picture } from './picture.ts';

/** A free driver so near, to whom an order is given in any case within {@link GIVEN_MS}; a bike is half as fast. */
const NEAR_METERS = 3_500;
const NEAR_METERS_BY_BIKE = NEAR_METERS / 2;
/**
 * Longest wait of an order while such a driver is there and free the whole time, and not kept for an order that is
 * ready later. A busy driver who will be there sooner may be waited for; the free one would take less than this.
 */
export const GIVEN_MS = 15 * 60_000;
/** An order of a tier that is not planned is given at the next sweep, at the latest. */
export const GIVEN_AT_ONCE_MS = 90_000;
/** A sweep that expires what is over comes in this time. */
const EXPIRED_MS = 90_000;
/** Both processes have heard of the driver in this time. */
const HEARD_MS = 45_000;

/** Watches that who could be given is given. */
export class Liveness {
  readonly #knowledge: Knowledge;
  readonly #processes: readonly number[];
  /** By order and driver, since when the one could have been given to the other. */
  #since = new Map<string, number>();

  constructor(knowledge: Knowledge, processes: readonly number[]) {
    this.#knowledge = knowledge;
    this.#processes = processes;
  }

  /** Looks at the tables; returns what waits for too long, as a sentence. */
  look(picture: Picture, modes: ReadonlyMap<string, string>, nowMs: number): string | null {
    const since = new Map<string, number>();
    const waiting = picture.orders.filter(({ status }) => status === 'pending_dispatch');
    const laterCount = waiting.filter((order) => !isReady(order, nowMs)).length;
    for (const order of waiting) {
      if (order.expiresMs < nowMs - EXPIRED_MS) return `not_expired: order ${order.id}, whose time is up`;
      const able = picture.drivers.filter((driver) => this.#couldTake(driver, order, picture, nowMs));
      // Somebody may be kept for an order that is ready soon.
      if (!isReady(order, nowMs) || able.length <= laterCount) continue;
      for (const driver of able) {
        const key = `${order.id} ${driver.id}`;
        since.set(key, this.#since.get(key) ?? nowMs);
        const waitedMs = nowMs - (since.get(key) as number);
        const most = modes.get(order.tier) === 'planned' ? GIVEN_MS : GIVEN_AT_ONCE_MS;
        if (waitedMs > most)
          return `not_given: order ${order.id} waits for ${waitedMs / 1_000} s beside driver ${driver.id}, who is free`;
      }
    }
    this.#since = since;
    return null;
  }

  /** Begins anew, as something is in the way. */
  forget(): void {
    this.#since.clear();
  }

  #couldTake(driver: DriverRow, order: OrderRow, { orders }: Picture, nowMs: number): boolean {
    const { id, onDuty, untilMs } = driver;
    if (!onDuty || untilMs !== null || orders.some(({ driverId }) => driverId === id)) return false;
    if (!isQualified(driver, order) || order.excluded.includes(id)) return false;
    const near = driver.vehicle === 'bike' ? NEAR_METERS_BY_BIKE : NEAR_METERS;
    return this.#processes.every((process) => {
      const at = this.#knowledge.positionsOf(process, id, nowMs).at(-1);
      return at && at.atMs > nowMs - HEARD_MS && metersBetween(at, order.pickup) < near;
    });
  }
}

function isReady(order: OrderRow, nowMs: number): boolean {
  const { dispatchFromMs, readyMs, deliverAfterMs, expiresMs, isStoreActive } = order;
  const isOpen = [dispatchFromMs, readyMs, deliverAfterMs].every((ms) => (ms ?? 0) <= nowMs);
  return isOpen && expiresMs > nowMs && isStoreActive;
}
