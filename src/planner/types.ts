import type { Point } from '../geo/point.ts';
import type { Place } from './place.ts';

/** An open order: nobody was told of it. All times are milliseconds of the caller's clock. */
export type OpenOrder = {
  readonly id: string;
  readonly pickup: Point;
  readonly dropoff: Point;
  readonly placedMs: number;
  /** Since when it counts as waiting, where its store has more than its share; absent for `placedMs`. */
  readonly countsFromMs?: number | undefined;
  /** When it is, or is expected to be, ready at its store. */
  readonly readyMs: number;
  /** The begin of its window: nothing is handed over before it; absent for none. */
  readonly doorFromMs?: number | undefined;
  /** The promise: by when it is at the door; `Infinity` for none. */
  readonly dueMs: number;
  /** What a minute of this order counts beside one of another, as its tier says; above 0. */
  readonly weight: number;
  /** What it takes of a driver's room; 1 or more. */
  readonly room: number;
};

/** A stop that a driver was told of and has not begun to drive to. */
export type ToldStop = { readonly kind: 'pickup' | 'dropoff'; readonly order: OpenOrder };

/**
 * A driver as the planner sees them: where and when they are free to be sent elsewhere. One who drives to a
 * stop, or stands at it, is free at that stop once it is done; `told` has the stops after it, in the order in
 * which the driver was told. A parcel whose dropoff stands there without its pickup is on board.
 */
export type PlannedDriver = {
  readonly id: string;
  readonly place: Point;
  readonly freeAtMs: number;
  /** For one who is at the stop: when they may leave it, however long they have been there. */
  readonly soonestMs?: number | undefined;
  /** How many more orders they may be given before they have done that stop, which takes room until then. */
  readonly spare?: number | undefined;
  /** Whether the stop at `place` is a pickup, so that a further parcel of that store takes no stop more. */
  readonly isPickingUp: boolean;
  readonly onDutyMs: number;
  /** The end of the shift, as `staysInShift` reads it; `Infinity` for an open end. */
  readonly offDutyMs: number;
  readonly room: number;
  readonly metersPerMinute: number;
  /** Bits of what they have or can carry, as `Reach.needs` reads them; absent for all. */
  readonly skills?: number | undefined;
  readonly told: readonly ToldStop[];
};

/** Which drivers come into question for an order at all. */
export type Reach = {
  /** The bits that a driver's `skills` must have. */
  readonly needs: number;
  /** How far from the pickup they, or a stop of which they were told, may be. */
  readonly meters: number;
};

export const ANYONE: Reach = { needs: 0, meters: Number.POSITIVE_INFINITY };

/** What the operator, the map and the handling at stops say; a minute to the door costs 1 × its weight. */
export type Rules = {
  /** Milliseconds of way; called often, so it must be cheap, and equal for equal arguments. */
  travelMs(from: Place, to: Place, metersPerMinute: number): number;
  /** Who comes into question for an order now; what it excludes costs a search some nanoseconds a driver. */
  reachOf(orderId: string): Reach;
  /** Whether a driver in reach may carry an order: releases, the exact distance. Asked of many in each search. */
  mayCarry(driverId: string, orderId: string): boolean;
  /** At the store before the parcel is taken over, and after it. */
  readonly pickupBeforeMs: number;
  readonly pickupAfterMs: number;
  /** At the door until it is handed over, and after it. */
  readonly dropoffBeforeMs: number;
  readonly dropoffAfterMs: number;
  /** Whether every planned stop is over by the end of the shift; else no pickup is later than it. */
  readonly staysInShift: boolean;
  /** Cost of a minute to the door of an order that is promised within `hurryMs`, or is not promised. */
  readonly hurryMs: number;
  /** Cost of a minute beyond the promise. */
  readonly lateCost: number;
  /** Cost of a driver's minute from leaving to the last stop. */
  readonly driverCost: number;
  /**
   * A driver for whom only one order is planned is told so much sooner than they have to leave: the parcel may be
   * ready before its time.
   */
  readonly headStartMs: number;
};

/** A driver who could have had an order, and what it would have cost there. */
export type Alternative = { readonly driverId: string; readonly cost: number };

/** Tell a driver now to do these stops before anything else that is only planned. */
export type Tell = {
  readonly driverId: string;
  /** All stops from now on, those told before included. */
  readonly stops: readonly ToldStop[];
  /** The orders that are new to the driver, with what each costs and the next best drivers. */
  readonly orders: readonly { readonly id: string; readonly cost: number; readonly nextBest: readonly Alternative[] }[];
};

/** What is planned for an open order; of one that nobody can take, `driverId` is null and times are absent. */
export type Estimate =
  | { readonly driverId: string; readonly pickupMs: number; readonly doorMs: number }
  | { readonly driverId: null };

/** Ask an idle driver to wait at a store where orders are expected. */
export type Wait = { readonly driverId: string; readonly place: Point };
