import { setImmediate as nextTurn } from 'node:timers/promises';
import { DRIVER_SILENT_MS, MAX_BATCH, MAX_EXPIRIES_PER_SWEEP, SWEEP_SLICE } from '../limits.ts';
import type { Store } from '../store/store.ts';
import type { Fleet } from './fleet.ts';
import type { Redispatch, RedispatchParts } from './redispatch.ts';

export type Sweep = {
  /**
   * The net below the events: reads what was missed, tries every waiting order once, expires orders that waited too long
   * and takes orders from silent drivers. A part that is still at work since an earlier run is not begun again.
   */
  run(): Promise<void>;
  /** Positions were not heard until now: a driver's silence is counted from here. */
  listening(): void;
};

/** Keeps waiting orders from being forgotten, whatever notice or answer was lost. */
export function createSweep(
  parts: Pick<RedispatchParts, 'matcher' | 'unknownOutcomes' | 'relay' | 'events' | 'clock'> & {
    readonly store: Pick<Store, 'findOverdue' | 'findSilent' | 'releaseFromSilent'>;
    readonly fleet: Pick<Fleet, 'catchUp' | 'markStale'>;
    readonly redispatch: Pick<Redispatch, 'matchDriver' | 'matchOrder' | 'assignMatches' | 'requeue' | 'expire'>;
  },
): Sweep {
  const { store, matcher, fleet, redispatch, clock } = parts;
  let listeningSinceMs = clock.now();

  async function matchWaiting(): Promise<void> {
    await fleet.catchUp(clock);
    if (matcher.waitingCount() === 0 || matcher.freeCount() === 0) return;
    if (matcher.waitingCount() <= MAX_BATCH) await matchFewOrders();
    else await matchAvailableDrivers();
  }

  /** Several orders and several drivers at once: least cost decides, and what is lost in a race is tried singly. */
  async function matchFewOrders(): Promise<void> {
    const orderIds = Array.from(matcher.waitingOrders(), ({ orderId }) => orderId);
    await redispatch.assignMatches(matcher.matchOrders(orderIds, clock.now()));
    // What the bounds of a batch left over.
    for (const orderId of orderIds) await redispatch.matchOrder(orderId);
  }

  /** More orders wait than one batch holds: each batch is of drivers who are near each other and can reach an order. */
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
      // A large fleet must not hold up the requests of this process.
      await nextTurn();
    }
    return reaching;
  }

  async function expireOverdue(): Promise<void> {
    for (const orderId of await store.findOverdue(MAX_EXPIRIES_PER_SWEEP)) await redispatch.expire(orderId);
  }

  /** A driver who is silent for too long before the pickup loses the order; it goes to another driver. */
  async function releaseSilent(): Promise<void> {
    // After a stop or an outage every driver is silent by the tables, which is our doing.
    if (clock.now() - listeningSinceMs < DRIVER_SILENT_MS) return;
    for (const { orderId, driverId } of await store.findSilent(DRIVER_SILENT_MS, MAX_EXPIRIES_PER_SWEEP)) {
      if (isHeard(driverId)) continue;
      const write = store.releaseFromSilent(orderId, driverId, DRIVER_SILENT_MS);
      const released = await parts.unknownOutcomes.watch(orderId, write);
      if (!released) continue;
      parts.relay.relay(released.outbox);
      matcher.release(driverId, clock.now(), orderId);
      fleet.markStale(driverId);
      parts.events.orderChanged(orderId, driverId);
      await redispatch.requeue(orderId);
    }
  }

  /** The tables hear of a position later than memory does, and not at all while they take no writes. */
  function isHeard(driverId: string): boolean {
    const position = matcher.driver(driverId)?.position;
    return position != null && position.atMs > clock.now() - DRIVER_SILENT_MS;
  }

  // Thousands to expire or to release take their time, and the tables may refuse: waiting orders do not wait for them.
  const steps = [oneAtATime(matchWaiting), oneAtATime(expireOverdue), oneAtATime(releaseSilent)];
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

/** While the work runs, whoever asks for it waits for that run. */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () => {
    running ??= work().finally(() => {
      running = null;
    });
    return running;
  };
}

/** Bands of latitude about 5 km wide, each from west to east: drivers near each other here are mostly near in the world. */
function placeInBands({ lat, lng }: { readonly lat: number; readonly lng: number }): number {
  return Math.floor(lat / 0.05) * 1_000 + lng;
}
