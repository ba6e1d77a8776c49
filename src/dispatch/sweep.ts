import { setImmediate as nextTurn } from 'node:timers/promises';
import { below, DRIVER_SILENT_MS } from '../limits.ts';
import { sharedRead } from '../shared-read.ts';
import type { Store } from '../store/store.ts';
import type { Fleet } from './fleet.ts';
import type { OrderEvents } from './order-events.ts';
import { MATCHED_AT_ONCE, type Redispatch, type RedispatchParts } from './redispatch.ts';

/** Most orders that one sweep expires or takes from silent drivers; the next sweep takes the rest. */
export const MAX_EXPIRIES_PER_SWEEP = 1_000;
/** Interval of the sweep that tries every waiting order again, in case an event was missed. */
export const REDISPATCH_SWEEP_MS = 15_000;
/**
 * Shortest time between two looks for silent drivers: each reads every order with a driver. A tenth of
 * DRIVER_SILENT_MS, by which an order may be taken later. Above REDISPATCH_SWEEP_MS.
 */
export const SILENT_LOOK_MS = 60_000;
/** A longer time without an answer of the tables was an outage. Above two of SILENT_LOOK_MS. */
export const OUTAGE_MS = 150_000;
/** Drivers that a sweep matches before it yields the event loop; 4 ms in the densest crowd. */
const SWEEP_SLICE = 16;

below({ REDISPATCH_SWEEP_MS }, { SILENT_LOOK_MS });
below({ '2 × SILENT_LOOK_MS': 2 * SILENT_LOOK_MS }, { OUTAGE_MS });
below({ OUTAGE_MS }, { DRIVER_SILENT_MS });

export type Sweep = {
  /**
   * Makes up for lost events: reads what memory has missed, matches every waiting order once, expires orders
   * whose time is up, releases orders of silent drivers, and sends drivers home whose time is up. A step that
   * is still running from an earlier call is not started again.
   */
  run(): Promise<void>;
};

/**
 * Takes an order before its pickup from a driver of whom nothing was heard for `silentMs`, and offers it
 * anew; false if the driver was heard or has picked it up.
 */
export type SilentRelease = (orderId: string, driverId: string, silentMs: number) => Promise<boolean>;

type SilentReleaseParts = Pick<RedispatchParts, 'matcher' | 'unknownOutcomes' | 'relay' | 'events' | 'clock'> & {
  readonly store: Pick<Store, 'releaseFromSilent'>;
  readonly fleet: Pick<Fleet, 'markStale'>;
  readonly redispatch: Pick<Redispatch, 'requeue'>;
};

type SweepParts = SilentReleaseParts & {
  readonly store: Pick<Store, 'findOverdue' | 'findSilent' | 'endDuties'>;
  readonly fleet: Pick<Fleet, 'catchUp' | 'markStale'>;
  readonly events: Pick<OrderEvents, 'driverChanged' | 'orderChanged' | 'storeChanged'>;
  readonly redispatch: Pick<Redispatch, 'matchDriver' | 'matchOrder' | 'matchOrders' | 'expire'>;
};

/** The sweep that keeps every waiting order on its way, whichever notice or reply was lost. */
export function createSweep(parts: SweepParts): Sweep {
  const { store, matcher, redispatch, clock } = parts;
  const releaseOrder = createSilentRelease(parts);
  const matchWaiting = createWaitingMatch(parts);
  /** Since when the tables were there without an outage, and when they last were. */
  let knownSinceMs = clock.now();
  let knownAtMs = knownSinceMs;

  async function expireOverdue(): Promise<void> {
    await each(await store.findOverdue(MAX_EXPIRIES_PER_SWEEP), (orderId) => redispatch.expire(orderId));
  }

  /** Releases orders before their pickup whose driver is silent for too long. */
  async function releaseSilent(): Promise<void> {
    const sinceLookMs = clock.now() - knownAtMs;
    if (sinceLookMs >= 0 && sinceLookMs < SILENT_LOOK_MS) return;
    const silent = await store.findSilent(DRIVER_SILENT_MS, MAX_EXPIRIES_PER_SWEEP);
    const nowMs = clock.now();
    // The clock goes back where another server has the tables.
    if (Math.abs(nowMs - knownAtMs) > OUTAGE_MS) knownSinceMs = nowMs;
    knownAtMs = nowMs;
    // After a stop of this service or an outage of the tables they show every driver as silent.
    const areKnown = nowMs - knownSinceMs >= DRIVER_SILENT_MS;
    await each(silent, async ({ orderId, driverId, isGone }) => {
      if (isGone || (areKnown && !hasReported(driverId))) await releaseOrder(orderId, driverId, DRIVER_SILENT_MS);
      knownAtMs = clock.now();
    });
  }

  const endDuties = (): Promise<void> => store.endDuties(MAX_EXPIRIES_PER_SWEEP);

  /** Positions reach the tables later than memory, and not at all while writes fail. */
  function hasReported(driverId: string): boolean {
    const position = matcher.driver(driverId)?.position;
    return position != null && position.atMs > clock.now() - DRIVER_SILENT_MS;
  }

  // The steps run side by side, so that waiting orders do not wait for thousands of expiries or a failed
  // write. But two of them read large parts of the tables, which is too much at once.
  const match = sharedRead(matchWaiting);
  const releaseNext = () => match().then(releaseSilent, releaseSilent);
  const steps = [match, ...[expireOverdue, releaseNext, endDuties].map(sharedRead)];
  return {
    async run() {
      const ends = await Promise.allSettled(steps.map((step) => step()));
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    },
  };
}

/** Reads what memory has missed, and matches every waiting order once. */
function createWaitingMatch({ matcher, fleet, redispatch, clock }: SweepParts): () => Promise<void> {
  return async function matchWaiting() {
    await fleet.catchUp(clock);
    if (matcher.freeCount() === 0 || matcher.waitingByClaim(0, clock.now()) !== null) return;
    const available = matcher.availableDrivers(clock.now());
    await nextTurn();
    const orderIds = matcher.waitingByClaim(available.length, clock.now());
    if (orderIds) return matchOrders(orderIds);
    await matchDrivers(available);
    // Those who have room take what waits at their store along. Their routes take long to plan, so one by one.
    for (const orderId of matcher.waitingByClaim(MATCHED_AT_ONCE, clock.now()) ?? []) {
      await redispatch.matchOrder(orderId);
      await nextTurn();
    }
  };

  /** With enough drivers for all each order takes the nearest, in this order. */
  async function matchOrders(orderIds: readonly string[]): Promise<void> {
    for (let at = 0; at < orderIds.length; at += MATCHED_AT_ONCE) {
      await redispatch.matchOrders(orderIds.slice(at, at + MATCHED_AT_ONCE));
      await nextTurn();
    }
  }

  /** With fewer each driver takes the order in reach that costs least. */
  async function matchDrivers(driverIds: readonly string[]): Promise<void> {
    for (let at = 0; at < driverIds.length; at += SWEEP_SLICE) {
      const slice = driverIds.slice(at, at + SWEEP_SLICE);
      const reaching = slice.filter((driverId) => matcher.bestWaitingFor(driverId, clock.now()));
      await Promise.all(reaching.map((driverId) => redispatch.matchDriver(driverId)));
      // A large fleet must not block the event loop.
      await nextTurn();
    }
  }
}

/** One conditional write; memory follows it. */
export function createSilentRelease(parts: SilentReleaseParts): SilentRelease {
  const { store, matcher, clock } = parts;

  return async function releaseSilent(orderId, driverId, silentMs) {
    const write = store.releaseFromSilent(orderId, driverId, silentMs);
    const released = await parts.unknownOutcomes.watch(orderId, write);
    if (!released) return false;
    parts.relay.relay(released.outbox);
    matcher.release(driverId, clock.now(), orderId);
    parts.fleet.markStale(driverId);
    parts.events.orderChanged(orderId, driverId);
    parts.events.orderTaken(driverId);
    await parts.redispatch.requeue(orderId);
    return true;
  };
}

/** Does something with one after the other. Where it fails for one, it is done with the others first. */
async function each<Item>(items: readonly Item[], act: (item: Item) => Promise<unknown>): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) await act(item).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
