import type { GivenOrder } from '../bus/notices.ts';
import { below, CLOCK_ROUND_TRIP_MS } from '../limits.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Fleet } from './fleet.ts';
import type { OrderEvents } from './order-events.ts';
import type { Redispatch } from './redispatch.ts';

/**
 * Age of a new order's commit from which on its notice is not believed but read, since the order may have ended
 * meanwhile. A notice comes within milliseconds.
 */
export const GIVEN_FRESH_MS = 5_000;
/** Time for which a process remembers at least which orders it has heard of. */
const HEARD_ORDERS_MS = 10_000;

below({ 'GIVEN_FRESH_MS + CLOCK_ROUND_TRIP_MS': GIVEN_FRESH_MS + CLOCK_ROUND_TRIP_MS }, { HEARD_ORDERS_MS });

export type GivenOrders = {
  /** Takes an order that another process created with a driver. False, without effect, where it must be read. */
  take(orderId: string, given: GivenOrder): boolean;
};

/**
 * Takes new orders of other processes as their notices tell of them. Notices come in the order of their commits,
 * so that one of a later change of the order follows and is read. What this process changed or read itself may
 * be later than a notice: an order of which it has heard is read, and so is one whose notice is too old to tell.
 */
export function createGivenOrders(parts: {
  readonly matcher: Pick<Matcher, 'carry' | 'hasRoomBeside'>;
  readonly fleet: Pick<Fleet, 'markStale'>;
  readonly redispatch: Pick<Redispatch, 'driverAvailable'>;
  readonly events: OrderEvents;
  readonly clock: Clock;
}): GivenOrders {
  const { matcher, fleet, redispatch, events, clock } = parts;
  let heard = new Set<string>();
  let heardBefore = new Set<string>();
  let sinceMs = clock.now();

  /** Time since then or, as a clock can be set back, until then. */
  const distanceMs = (ms: number) => Math.abs(clock.now() - ms);

  events.subscribe({
    orderChanged(orderId) {
      if (distanceMs(sinceMs) >= HEARD_ORDERS_MS) [heardBefore, heard, sinceMs] = [heard, new Set(), clock.now()];
      heard.add(orderId);
    },
  });

  return {
    take(orderId, { driverId, atMs, carried }) {
      if (distanceMs(atMs) > GIVEN_FRESH_MS || heard.has(orderId) || heardBefore.has(orderId)) return false;
      if (!matcher.carry(driverId, carried)) return false;
      // A read of the driver that began before may know nothing of the order, and is repeated.
      fleet.markStale(driverId);
      events.orderChanged(orderId, driverId);
      events.driverChanged(driverId);
      if (matcher.hasRoomBeside(driverId)) redispatch.driverAvailable(driverId);
      return true;
    },
  };
}
