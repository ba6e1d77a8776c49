import { setImmediate as nextTurn } from 'node:timers/promises';
import { MAX_EXPIRIES_PER_SWEEP, SWEEP_SLICE } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
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
  /** The net below the events: expires what waited too long and tries every waiting order once. */
  sweep(): Promise<void>;
  /** Expires one order whose time is up. */
  expire(orderId: string): Promise<void>;
};

type Chosen = { readonly driverId: string; readonly distanceMeters: number };

/** Gives waiting orders to drivers, one conditional update an order. */
export function createRedispatch(deps: {
  readonly matcher: Matcher;
  readonly now: () => number;
  readonly assignWaiting: (orderId: string, driver: Chosen) => Promise<AssignOutcome>;
  readonly expireOrder: (orderId: string) => Promise<ChangedOrder | null>;
  readonly findOverdue: (limit: number) => Promise<string[]>;
  /** Orders whose driver has been silent for too long before the pickup. */
  readonly findSilent: () => Promise<{ readonly orderId: string; readonly driverId: string }[]>;
  readonly releaseFromSilent: (orderId: string, driverId: string) => Promise<ChangedOrder | null>;
  readonly refreshDrivers: (ids: readonly string[]) => Promise<void>;
  readonly refreshOrders: (ids: readonly string[]) => Promise<unknown>;
  readonly relay: (rows: readonly OutboxRow[]) => void;
  readonly assigned: (orderId: string, driverId: string) => void;
  readonly orderChanged: (orderId: string, driverId: string | null) => void;
  readonly logger: Logger;
}): Redispatch {
  const { matcher } = deps;

  async function driverAvailable(driverId: string): Promise<void> {
    // Each round either assigns the driver or removes an order that was gone, so this ends.
    for (;;) {
      const best = matcher.bestWaitingFor(driverId, deps.now());
      if (!best) return;
      const outcome = await assign(best.orderId, { driverId, distanceMeters: best.distanceMeters });
      if (outcome !== 'order_gone') return;
    }
  }

  async function orderWaits(orderId: string): Promise<void> {
    const lost = new Set<string>();
    for (;;) {
      const driver = matcher.bestDriverFor(orderId, deps.now(), lost);
      if (!driver) return;
      const outcome = await assign(orderId, driver);
      if (outcome !== 'driver_lost') return;
      lost.add(driver.driverId);
    }
  }

  /** Both are marked in memory first, synchronously, so that no other event picks either; then the row decides. */
  async function assign(
    orderId: string,
    driver: Chosen,
  ): Promise<'assigned' | 'driver_lost' | 'order_gone' | 'failed'> {
    if (!matcher.beginAssign(orderId, driver.driverId)) return 'failed';
    let outcome: AssignOutcome;
    try {
      outcome = await deps.assignWaiting(orderId, driver);
    } catch (error) {
      deps.logger.warn({ err: errorFields(error), orderId }, 'a waiting order could not be assigned');
      matcher.endAssign(orderId, 'driver_lost', deps.now());
      // It may have been written after all: believe the tables, now or when they can be read again.
      void Promise.all([deps.refreshOrders([orderId]), deps.refreshDrivers([driver.driverId])]).catch(() => undefined);
      return 'failed';
    }
    matcher.endAssign(orderId, outcome.kind, deps.now());
    if (outcome.kind === 'assigned') {
      deps.relay(outcome.outbox);
      deps.assigned(orderId, driver.driverId);
    } else if (outcome.kind === 'driver_lost') {
      await deps.refreshDrivers([driver.driverId]);
    }
    return outcome.kind;
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
    for (const { orderId, driverId } of await deps.findSilent()) {
      const released = await deps.releaseFromSilent(orderId, driverId);
      if (!released) continue;
      deps.relay(released.outbox);
      matcher.release(driverId, deps.now(), orderId);
      deps.orderChanged(orderId, driverId);
      await waitsAgain(orderId);
    }
  }

  /** An order came back: it is put among the waiting ones as the tables say, and matched at once. */
  async function waitsAgain(orderId: string): Promise<void> {
    await deps.refreshOrders([orderId]);
    await orderWaits(orderId);
  }

  async function sweep(): Promise<void> {
    await releaseSilent();
    for (const orderId of await deps.findOverdue(MAX_EXPIRIES_PER_SWEEP)) await expire(orderId);
    for (let left = matcher.waitingCount(); left > 0; left -= SWEEP_SLICE) {
      if (matcher.freeCount() === 0) return;
      for (const { orderId } of matcher.nextWaiting(Math.min(left, SWEEP_SLICE))) await orderWaits(orderId);
      // A long queue must not hold up the requests of this process.
      await nextTurn();
    }
  }

  return { driverAvailable, orderWaits, waitsAgain, sweep, expire };
}
