import type { KnownPosition } from '../../src/domain/shown-position.ts';
import type { PlaceOnRoute, TrackedOrder } from '../../src/domain/tracked.ts';
import type { Matcher } from '../../src/matcher/matcher.ts';

export const TOKEN = 'tok_0123456789-abcdefghi';
export const NOW_MS = Date.parse('2026-03-02T15:00:00.000Z');

/** An order in a given state; times follow the path. */
export function trackedOrder(fields: Partial<TrackedOrder> = {}): TrackedOrder {
  return {
    orderId: '01900000-0000-7000-8000-000000000001',
    trackingToken: TOKEN,
    sequence: 1,
    status: 'pending_dispatch',
    storeName: 'Corner Books',
    driverId: null,
    driverFirstName: null,
    onRoute: null,
    planned: null,
    deliverBy: '2026-03-02T16:00:00.000Z',
    pickup: { lat: 40.7411, lng: -73.9897 },
    dropoff: null,
    createdAt: '2026-03-02T14:00:00.000Z',
    assignedAt: null,
    pickedUpAt: null,
    deliveredAt: null,
    endedAt: null,
    wasReleased: false,
    reason: null,
    dropoffInstructions: null,
    leaveAtDoor: false,
    hasPhoto: false,
    ...fields,
  };
}

/**
 * The place of an order whose driver goes to so many other doors first; null for one without a driver.
 *
 * @param doorInMinutes null while the driver is silent
 */
export const behind = (stopsBefore: number | null, doorInMinutes: number | null = 20): PlaceOnRoute | null =>
  stopsBefore === null ? null : { stopsBefore, isNext: stopsBefore === 0, doorInMinutes, door: null, otherDoors: [] };

export const DRIVER_ID = '01900000-0000-7000-8000-0000000000d1';
const withDriver = {
  driverId: DRIVER_ID,
  driverFirstName: 'Ana',
  planned: null,
  onRoute: behind(0),
  assignedAt: '2026-03-02T14:01:00.000Z',
};

export const assigned = (fields: Partial<TrackedOrder> = {}) =>
  trackedOrder({ sequence: 2, status: 'driver_assigned', ...withDriver, ...fields });
export const pickedUp = (fields: Partial<TrackedOrder> = {}) =>
  assigned({ sequence: 3, status: 'picked_up', pickedUpAt: '2026-03-02T14:20:00.000Z', ...fields });
export const delivered = (fields: Partial<TrackedOrder> = {}) =>
  pickedUp({ sequence: 4, status: 'delivered', deliveredAt: '2026-03-02T14:45:00.000Z', hasPhoto: true, ...fields });

/** A matcher that knows every driver, at this position if any. */
export function matcherAt(position: KnownPosition | null): Pick<Matcher, 'driver'> {
  return { driver: (id) => ({ id, tierIds: ['standard'], onDuty: true, position, freeSinceMs: 0, carried: [] }) };
}
