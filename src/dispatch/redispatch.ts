import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ChosenDriver } from '../domain/rejected-candidate.ts';
import { DRIVER_SILENT_MS, MAX_BATCH, MAX_EXPIRIES_PER_SWEEP, MAX_FOLLOW_UPS, SWEEP_SLICE } from '../limits.ts';
import type { FoundDriver, Match, Matcher } from '../matcher/matcher.ts';
import type { ChangedOrder } from '../store/changes.ts';
import type { AssignOutcome } from '../store/orders.ts';
import type { OutboxRow } from '../store/outbox.ts';
import { errorFields, type Logger } from '../telemetry.ts';

export type Redispatch = {
  /** A driver came on duty, became free or moved: he takes the waiting order with the strongest claim in his reach. */
  driverAvailable(driverId: string): Promise<void>;
  /** An order waits: it takes the nearest driver, if one is free by now. */
  orderWaits(orderId: string): Promise<void>;
  /** An order was given back by its driver. */
  waitsAgain(orderId: string): Promise<void>;
  /**
   * The net below the events: reads what was missed, tries every waiting order once, expires what waited too long and
   * takes orders from silent drivers. What of it is still at work since an earlier sweep is not begun again.
   */
  sweep(): Promise<void>;
  /** Until now no driver could be heard, at least for a while: what counts as silence begins anew. */
  listening(): void;
  /** Expires one order whose time is up. */
  expire(orderId: string): Promise<void>;
};

/** Gives waiting orders to drivers, one conditional update an order. */
export function createRedispatch(deps: {
  readonly matcher: Matcher;
  readonly now: () => number;
  readonly assignWaiting: (orderId: string, driver: ChosenDriver) => Promise<AssignOutcome>;
  readonly expireOrder: (orderId: string) => Promise<ChangedOrder | null>;
  readonly findOverdue: (limit: number) => Promise<string[]>;
  /** Orders whose driver has been silent for too long before the pickup. */
  readonly findSilent: () => Promise<{ readonly orderId: string; readonly driverId: string }[]>;
  readonly releaseFromSilent: (orderId: string, driverId: string) => Promise<ChangedOrder | null>;
  /** Reads what this process has missed. */
  readonly catchUp: () => Promise<void>;
  readonly refreshDrivers: (ids: readonly string[]) => Promise<void>;
  readonly refreshOrders: (ids: readonly string[]) => Promise<unknown>;
  /** A driver was changed in the matcher, after the tables took the change. */
  readonly touched: (driverId: string) => void;
  readonly relay: (rows: readonly OutboxRow[]) => void;
  readonly assigned: (orderId: string, driverId: string) => void;
  readonly orderChanged: (orderId: string, driverId: string | null) => void;
  readonly logger: Logger;
}): Redispatch {
  const { matcher } = deps;
  let listeningSinceMs = deps.now();

  // While an order and a driver are being written, nobody else finds either of them. So where the write is refused, the
  // one that is left looks again; how often that goes on is bounded, as it ends only when memory and tables agree.
  async function driverAvailable(driverId: string, followUps = MAX_FOLLOW_UPS): Promise<void> {
    for (let left = followUps; ; ) {
      const best = matcher.bestWaitingFor(driverId, deps.now());
      if (!best) return;
      const outcome = await assign(best.orderId, { driverId, distanceMeters: best.distanceMeters });
      if (outcome === 'order_gone') continue;
      if (outcome !== 'driver_lost' || left-- === 0) return;
      await orderWaits(best.orderId, left);
    }
  }

  async function orderWaits(orderId: string, followUps = MAX_FOLLOW_UPS): Promise<void> {
    const lost = new Set<string>();
    for (;;) {
      const driver = matcher.bestDriverFor(orderId, deps.now(), lost);
      if (!driver) break;
      const outcome = await assign(orderId, driver, lost);
      if (outcome === 'order_gone') lost.add(driver.driverId);
      if (outcome !== 'driver_lost') break;
      lost.add(driver.driverId);
    }
    // Those who did not get it are as free as the tables say by now.
    if (followUps > 0) for (const driverId of lost) await driverAvailable(driverId, followUps - 1);
  }

  /** Both are marked in memory first, synchronously, so that no other event picks either; then the row decides. */
  async function assign(
    orderId: string,
    driver: FoundDriver,
    lost?: ReadonlySet<string>,
  ): Promise<'assigned' | 'driver_lost' | 'order_gone' | 'failed'> {
    // Memory may have it that the order waits and is carried at once; one of the two was read too early.
    const carrier = matcher.holderOf(orderId);
    const drivers = carrier === undefined ? [driver.driverId] : [driver.driverId, carrier];
    if (!matcher.beginAssign(orderId, driver.driverId)) return 'failed';
    const order = matcher.waitingOrder(orderId);
    const rejectedCandidates = matcher.rejectedCandidatesFor(orderId, driver, deps.now(), lost);
    let outcome: AssignOutcome;
    try {
      outcome = await deps.assignWaiting(orderId, { ...driver, rejectedCandidates });
    } catch (error) {
      deps.logger.warn({ err: errorFields(error), orderId }, 'a waiting order could not be assigned');
      matcher.endAssign(orderId, 'driver_lost', deps.now());
      // It may have been written after all: believe the tables, now or when they can be read again.
      void Promise.all([deps.refreshOrders([orderId]), deps.refreshDrivers(drivers)]).catch(() => undefined);
      return 'failed';
    }
    const overtaken = matcher.holderOf(orderId) !== driver.driverId || matcher.waitingOrder(orderId) !== order;
    matcher.endAssign(orderId, outcome.kind, deps.now());
    if (outcome.kind === 'assigned') {
      deps.relay(outcome.outbox);
      deps.assigned(orderId, driver.driverId);
      // A reading undid the mark or put the order anew, or more happened to it before this answer came: the tables know.
      if (overtaken || carrier !== undefined) await lookAgain(orderId, drivers);
    } else {
      // One of them is not what it seemed to be. An order that is gone may even be his, by another process.
      await Promise.all([deps.refreshDrivers(drivers), deps.refreshOrders([orderId])]);
    }
    return outcome.kind;
  }

  async function lookAgain(orderId: string, driverIds: readonly string[]): Promise<void> {
    await Promise.all([deps.refreshDrivers(driverIds), deps.refreshOrders([orderId])]);
    await orderWaits(orderId);
    for (const driverId of driverIds) await driverAvailable(driverId);
  }

  async function expire(orderId: string): Promise<void> {
    const expired = await deps.expireOrder(orderId);
    if (!expired) return;
    deps.relay(expired.outbox);
    matcher.unwait(orderId);
    deps.orderChanged(orderId, null);
  }

  /** A driver who fell silent before the pickup loses the order; it goes to somebody else. */
  async function releaseSilent(): Promise<void> {
    // After a stop or an outage all of them are silent by the tables, which is our doing.
    if (deps.now() - listeningSinceMs < DRIVER_SILENT_MS) return;
    for (const { orderId, driverId } of await deps.findSilent()) {
      if (isHeard(driverId)) continue;
      const released = await deps.releaseFromSilent(orderId, driverId);
      if (!released) continue;
      deps.relay(released.outbox);
      matcher.release(driverId, deps.now(), orderId);
      deps.touched(driverId);
      deps.orderChanged(orderId, driverId);
      await waitsAgain(orderId);
    }
  }

  /** The tables hear of a position later than memory does, and not at all while they take no writes. */
  function isHeard(driverId: string): boolean {
    const position = matcher.driver(driverId)?.position;
    return position != null && position.atMs > deps.now() - DRIVER_SILENT_MS;
  }

  /** An order came back: it is put among the waiting ones as the tables say, and matched at once. */
  async function waitsAgain(orderId: string): Promise<void> {
    await deps.refreshOrders([orderId]);
    await orderWaits(orderId);
  }

  // Thousands to expire or to release take their time, and the tables may refuse: the orders that wait do not wait for it.
  const parts = [oneAtATime(matchWaiting), oneAtATime(expireOverdue), oneAtATime(releaseSilent)];
  async function sweep(): Promise<void> {
    const ends = await Promise.allSettled(parts.map((part) => part()));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  async function expireOverdue(): Promise<void> {
    for (const orderId of await deps.findOverdue(MAX_EXPIRIES_PER_SWEEP)) await expire(orderId);
  }

  async function matchWaiting(): Promise<void> {
    await deps.catchUp();
    if (matcher.waitingCount() === 0 || matcher.freeCount() === 0) return;
    if (matcher.waitingCount() <= MAX_BATCH) await matchFewOrders();
    else await matchAvailableDrivers();
  }

  /** Several orders and several drivers at once: least cost decides, and what is lost in a race is tried singly. */
  async function matchFewOrders(): Promise<void> {
    const orderIds = Array.from(matcher.waitingOrders(), ({ orderId }) => orderId);
    await assignAll(matcher.matchOrders(orderIds, deps.now()));
    // What the bounds of a batch left over.
    for (const orderId of orderIds) await orderWaits(orderId);
  }

  /** More orders wait than one batch holds: each batch is of drivers who are near each other and can reach an order. */
  async function matchAvailableDrivers(): Promise<void> {
    const reaching: { readonly driverId: string; readonly place: number }[] = [];
    const available = matcher.availableDrivers(deps.now());
    for (let at = 0; at < available.length; at += SWEEP_SLICE) {
      for (const driverId of available.slice(at, at + SWEEP_SLICE)) {
        const position = matcher.bestWaitingFor(driverId, deps.now()) && matcher.driver(driverId)?.position;
        if (position) reaching.push({ driverId, place: placeInBands(position) });
      }
      // A large fleet must not hold up the requests of this process.
      await nextTurn();
    }
    reaching.sort((a, b) => a.place - b.place);
    for (let at = 0; at < reaching.length; at += MAX_BATCH) {
      const driverIds = reaching.slice(at, at + MAX_BATCH).map(({ driverId }) => driverId);
      await assignAll(matcher.matchDrivers(driverIds, deps.now()));
      for (const driverId of driverIds) await driverAvailable(driverId);
      await nextTurn();
    }
  }

  async function assignAll(matches: readonly Match[]): Promise<void> {
    await Promise.all(
      matches.map(async (match) => {
        const outcome = await assign(match.orderId, match);
        if (outcome === 'driver_lost') await orderWaits(match.orderId);
        if (outcome === 'driver_lost' || outcome === 'order_gone') await driverAvailable(match.driverId);
      }),
    );
  }

  return {
    driverAvailable: (driverId) => driverAvailable(driverId),
    orderWaits: (orderId) => orderWaits(orderId),
    waitsAgain,
    sweep,
    listening() {
      listeningSinceMs = deps.now();
    },
    expire,
  };
}

/** While it is at work, whoever asks for it waits for that. */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () => {
    running ??= work().finally(() => {
      running = null;
    });
    return running;
  };
}

/** Bands of latitude about 5 km wide, each from west to east: who is near here is mostly near in the world. */
function placeInBands({ lat, lng }: { readonly lat: number; readonly lng: number }): number {
  return Math.floor(lat / 0.05) * 1_000 + lng;
}
