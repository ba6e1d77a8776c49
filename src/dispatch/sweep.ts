import { setImmediate as nextTurn } from 'node:timers/promises';
import { DRIVER_SILENT_MS, MAX_BATCH } from '../limits.ts';
import type { Store } from '../store/store.ts';
import type { Fleet } from './fleet.ts';
import type { OrderEvents } from './order-events.ts';
import type { Redispatch } from './redispatch.ts';
import { createSilentRelease, type SilentReleaseParts } from './silent-release.ts';
import type { UnknownOutcomes } from './unknown-outcomes.ts';

/** Most orders that one sweep expires or takes from silent drivers; the next sweep takes the rest. */
export const MAX_EXPIRIES_PER_SWEEP = 1_000;
/** Drivers for whom a sweep seeks an order before it yields the event loop; 4 ms in the densest crowd. */
const SWEEP_SLICE = 16;

export type Sweep = {
  /**
   * Makes up for lost events: reads what memory has missed, matches every waiting order once, expires orders
   * whose time is up, releases orders of silent drivers, and sends drivers home whose time is up. A step that
   * is still running from an earlier call is not started again.
   */
  run(): Promise<void>;
  /** Positions were not received until now: the silence of drivers counts from here. */
  listening(): void;
};

type SweepParts = SilentReleaseParts & {
  readonly unknownOutcomes: Pick<UnknownOutcomes, 'watch' | 'addDuty'>;
  readonly store: Pick<Store, 'findOverdue' | 'findSilent' | 'endDuties'>;
  readonly fleet: Pick<Fleet, 'catchUp' | 'refreshDrivers' | 'markStale'>;
  readonly events: Pick<OrderEvents, 'driverChanged' | 'orderChanged' | 'storeChanged'>;
  readonly redispatch: Pick<Redispatch, 'matchDriver' | 'matchOrder' | 'assignMatches' | 'expire'>;
};

/** The sweep that keeps every waiting order on its way, whichever notice or reply was lost. */
export function createSweep(parts: SweepParts): Sweep {
  const { store, matcher, redispatch, clock } = parts;
  const releaseOrder = createSilentRelease(parts);
  const matchWaiting = createWaitingMatch(parts);
  let listeningSinceMs = clock.now();

  async function expireOverdue(): Promise<void> {
    for (const orderId of await store.findOverdue(MAX_EXPIRIES_PER_SWEEP)) await redispatch.expire(orderId);
  }

  /** Releases orders before their pickup whose driver is silent for too long. */
  async function releaseSilent(): Promise<void> {
    // After a stop or an outage of this service the tables show every driver as silent.
    if (clock.now() - listeningSinceMs < DRIVER_SILENT_MS) return;
    for (const { orderId, driverId } of await store.findSilent(DRIVER_SILENT_MS, MAX_EXPIRIES_PER_SWEEP)) {
      if (!hasReported(driverId)) await releaseOrder(orderId, driverId, DRIVER_SILENT_MS);
    }
  }

  async function endDuties(): Promise<void> {
    const driverIds = await store.endDuties(MAX_EXPIRIES_PER_SWEEP);
    await parts.fleet.refreshDrivers(driverIds).catch(() => {
      for (const driverId of driverIds) parts.unknownOutcomes.addDuty(driverId);
    });
    for (const driverId of driverIds) parts.events.driverChanged(driverId);
  }

  /** Positions reach the tables later than memory, and not at all while writes fail. */
  function hasReported(driverId: string): boolean {
    const position = matcher.driver(driverId)?.position;
    return position != null && position.atMs > clock.now() - DRIVER_SILENT_MS;
  }

  // The steps run side by side, so that waiting orders do not wait for thousands of expiries or a failed
  // write.
  const steps = [oneAtATime(matchWaiting), oneAtATime(expireOverdue), oneAtATime(releaseSilent), oneAtATime(endDuties)];
  return {
    async run() {
      const ends = await Promise.allSettled(steps.map((step) => step()));
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    },
    listening() {
      listeningSinceMs = clock.now();
    },
  };
}

/** Reads what memory has missed, and matches every waiting order once. */
function createWaitingMatch({ matcher, fleet, redispatch, clock }: SweepParts): () => Promise<void> {
  return async function matchWaiting() {
    await fleet.catchUp(clock);
    if (matcher.waitingCount() === 0 || matcher.freeCount() === 0) return;
    if (matcher.waitingCount() <= MAX_BATCH) await matchFewOrders();
    else await matchAvailableDrivers();
  };

  /** Matches all waiting orders at once, at the least total cost. */
  async function matchFewOrders(): Promise<void> {
    const orderIds = Array.from(matcher.waitingOrders(), ({ orderId }) => orderId);
    await redispatch.assignMatches(matcher.matchOrders(orderIds, clock.now()));
    // Orders that the bounds of a batch left out.
    for (const orderId of orderIds) await redispatch.matchOrder(orderId);
  }

  /**
   * For more orders than a batch holds: each batch has drivers who are near each other and can reach an
   * order.
   */
  async function matchAvailableDrivers(): Promise<void> {
    const reaching = (await driversInReach()).sort((a, b) => a.place - b.place);
    for (let at = 0; at < reaching.length; at += MAX_BATCH) {
      const driverIds = reaching.slice(at, at + MAX_BATCH).map(({ driverId }) => driverId);
      await redispatch.assignMatches(matcher.matchDrivers(driverIds, clock.now()));
      for (const driverId of driverIds) await redispatch.matchDriver(driverId);
      await nextTurn();
    }
  }

  async function driversInReach(): Promise<{ readonly driverId: string; readonly place: number }[]> {
    const reaching: { readonly driverId: string; readonly place: number }[] = [];
    const available = matcher.availableDrivers(clock.now());
    for (let at = 0; at < available.length; at += SWEEP_SLICE) {
      for (const driverId of available.slice(at, at + SWEEP_SLICE)) {
        const position = matcher.bestWaitingFor(driverId, clock.now()) && matcher.driver(driverId)?.position;
        if (position) reaching.push({ driverId, place: placeInBands(position) });
      }
      // A large fleet must not block the event loop.
      await nextTurn();
    }
    return reaching;
  }
}

/** Runs `work` once at a time: a call during a run waits for that run. */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () => {
    running ??= work().finally(() => {
      running = null;
    });
    return running;
  };
}

/**
 * A sort key: bands of latitude about 5 km wide, each from west to east. Drivers with close keys are mostly
 * close.
 */
function placeInBands({ lat, lng }: { readonly lat: number; readonly lng: number }): number {
  return Math.floor(lat / 0.05) * 1_000 + lng;
}
