import type { FleetDriver } from '../../src/domain/driver.ts';
import type { CarriedOrder } from '../../src/domain/route.ts';
import type { Point } from '../../src/geo/point.ts';

/** An order that a driver carries, of which nothing else is known. */
export function carrying(orderId: string, known: Partial<CarriedOrder> = {}): CarriedOrder {
  return {
    orderId,
    retailerId: '',
    slot: 0,
    step: 'to_fetch',
    pickup: { lat: 0, lng: 0 },
    dropoff: null,
    readyAtMs: 0,
    deliverByMs: Number.POSITIVE_INFINITY,
    ...known,
  };
}

/** A driver on duty at a place, who serves the tier `standard`, carries nothing, and was heard of and is free since then. */
export const freeDriver = (id: string, at: Point, nowMs: number, changes: Partial<FleetDriver> = {}): FleetDriver => ({
  ...{ id, tierIds: ['standard'], onDuty: true, position: { ...at, atMs: nowMs }, freeSinceMs: nowMs, carried: [] },
  ...changes,
});

/** The order that a driver of one parcel carries; null for none, and for an unknown driver. */
export const orderOf = (driver: Pick<FleetDriver, 'carried'> | undefined): string | null =>
  driver?.carried[0]?.orderId ?? null;

/** Sends a driver on or off duty, as their row says then: who comes on duty is free since now. */
export function setDuty(
  matcher: { driver(id: string): FleetDriver | undefined; putDriver(driver: FleetDriver): void },
  id: string,
  onDuty: boolean,
  nowMs: number,
): void {
  const driver = matcher.driver(id);
  if (!driver) return;
  const freeSinceMs = onDuty && !driver.onDuty ? nowMs : driver.freeSinceMs;
  matcher.putDriver({ ...driver, onDuty, onDutyUntilMs: null, freeSinceMs });
}
