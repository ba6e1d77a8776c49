import { ServiceError } from '../domain/errors.ts';
import { below, RETRY_AFTER_SECONDS } from '../limits.ts';
import type { Driver } from './driver.ts';

/**
 * Messages a second that a driver may send over their socket, positions over HTTP included. Above one every
 * DRIVER_REPORT_MS.
 */
export const DRIVER_MESSAGES_PER_SECOND = 5;
/** Messages it may send at once, as after a dead zone. Above DRIVER_MESSAGES_PER_SECOND. */
export const DRIVER_MESSAGE_BURST = 20;
/** Other requests a second that a driver may send over HTTP. The page sends one or two for each press. */
const DRIVER_REQUESTS_PER_SECOND = 10;
/** Such requests they may send at once. Above DRIVER_REQUESTS_PER_SECOND. */
export const DRIVER_REQUEST_BURST = 40;

below({ DRIVER_MESSAGES_PER_SECOND }, { DRIVER_MESSAGE_BURST });
below({ DRIVER_REQUESTS_PER_SECOND }, { DRIVER_REQUEST_BURST });

/** A token bucket for one sender's messages: holds `burst` and gains `perSecond` a second. */
export class Allowance {
  readonly #burst: number;
  readonly #perMs: number;
  #left: number;
  #atMs: number;

  constructor(burst: number, perSecond: number, nowMs: number) {
    this.#burst = burst;
    this.#perMs = perSecond / 1_000;
    this.#left = burst;
    this.#atMs = nowMs;
  }

  /** Takes one; false where none is left. A clock that steps back adds nothing. */
  take(nowMs: number): boolean {
    const gained = Math.max(0, nowMs - this.#atMs) * this.#perMs;
    this.#left = Math.min(this.#burst, this.#left + gained);
    this.#atMs = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

/**
 * An allowance for each driver. One that is not used for as long as it takes to fill is forgotten, so only
 * the drivers of the last seconds take memory.
 */
export class Allowances {
  readonly #burst: number;
  readonly #perSecond: number;
  readonly #now: () => number;
  #recent = new Map<string, Allowance>();
  /** Those that were used in the time before `#turnedMs`. */
  #before = new Map<string, Allowance>();
  #turnedMs: number;

  constructor(burst: number, perSecond: number, now: () => number) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#now = now;
    this.#turnedMs = now();
  }

  /** Takes one from the driver's allowance; false where none is left. */
  take(driverId: string): boolean {
    const nowMs = this.#now();
    if (nowMs - this.#turnedMs >= (this.#burst / this.#perSecond) * 1_000) this.#turn(nowMs);
    return (this.#recent.get(driverId) ?? this.#remember(driverId, nowMs)).take(nowMs);
  }

  /**
   * Takes one from the caller's allowance before a route takes their body; null, as the request may go on.
   *
   * @throws {ServiceError} `rate_limited` where none is left
   */
  readonly admit = ({ principal }: { readonly principal: Driver }): null => {
    if (this.take(principal.driverId)) return null;
    const message = `A driver may send this ${this.#perSecond} times a second; this one was not taken. Try again soon.`;
    throw new ServiceError('rate_limited', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
  };

  get size(): number {
    return new Set([...this.#recent.keys(), ...this.#before.keys()]).size;
  }

  #remember(driverId: string, nowMs: number): Allowance {
    const allowance = this.#before.get(driverId) ?? new Allowance(this.#burst, this.#perSecond, nowMs);
    this.#recent.set(driverId, allowance);
    return allowance;
  }

  #turn(nowMs: number): void {
    this.#before = this.#recent;
    this.#recent = new Map();
    this.#turnedMs = nowMs;
  }
}

/** What a driver may send, over all of their connections to one process. */
export type DriverAllowances = {
  /** Messages of their socket, and positions over HTTP. */
  readonly messages: Allowances;
  /** Positions of their tracking app, which catches up after a dead zone and must not silence the page. */
  readonly trackers: Allowances;
  /** All other requests over HTTP. */
  readonly requests: Allowances;
};

/** @param now a clock in milliseconds */
export function createDriverAllowances(now: () => number): DriverAllowances {
  return {
    messages: new Allowances(DRIVER_MESSAGE_BURST, DRIVER_MESSAGES_PER_SECOND, now),
    trackers: new Allowances(DRIVER_MESSAGE_BURST, DRIVER_MESSAGES_PER_SECOND, now),
    requests: new Allowances(DRIVER_REQUEST_BURST, DRIVER_REQUESTS_PER_SECOND, now),
  };
}
