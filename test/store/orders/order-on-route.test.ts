import { expect, it } from 'vitest';
import { placeOnRoute, placesOnRoutes, type RouteJson } from '../../../src/store/orders/order-on-route.ts';

const NOW = Date.parse('2026-03-02T15:00:00Z');
const MINUTE = 60_000;
const at = (minutes: number) => new Date(NOW + minutes * MINUTE).toISOString();
const STORE = { lat: 40, lng: -100 };

/** An order of the store, ready so many minutes from now, whose door is 2 km away. */
const parcel = (id: string, status: string, readyInMinutes = 0, changes: object = {}) => ({
  ...{ order_id: id, retailer_id: 's', status, driver_slot: 0, pickup_lat: STORE.lat, pickup_lng: STORE.lng },
  ...{ door_lat: STORE.lat + 0.018, door_lng: STORE.lng, door_accuracy: 10 },
  ...{ ready_at: at(readyInMinutes), deliver_after: null, deliver_by: at(180), ...changes },
});
const route = (...orders: RouteJson['orders']): RouteJson => ({
  ...STORE,
  at_ms: NOW,
  age_ms: 0,
  vehicle: 'car',
  orders,
});

it('is next where the driver only fetches it first, and waits for all that is fetched with it', () => {
  const alone = placeOnRoute('a', route(parcel('a', 'driver_assigned', 6, { deliver_after: at(20) })));
  expect(alone).toMatchObject({ isNext: true, readyAtMs: NOW + 6 * MINUTE, deliverAfterMs: NOW + 20 * MINUTE });
  const both = placeOnRoute('a', route(parcel('a', 'driver_assigned'), parcel('b', 'driver_assigned', 6)));
  expect(both).toMatchObject({ stopsBefore: 0, isNext: true, readyAtMs: NOW + 6 * MINUTE });
});

it('is not next while the driver, who has it, waits for another parcel at the store', () => {
  const waiting = route(parcel('a', 'picked_up'), parcel('b', 'driver_assigned', 4));
  const place = placeOnRoute('a', waiting);
  expect(place).toMatchObject({ stopsBefore: 0, isNext: false, readyAtMs: undefined });
  expect(place?.doorInMinutes).toBeGreaterThan(4);
});

it('keeps from other customers each door whose parcel the driver has, or tried to hand over', () => {
  const statuses = ['driver_assigned', 'picked_up', 'undeliverable'];
  const doors = statuses.map((status) => placeOnRoute('a', route(parcel('a', 'picked_up'), parcel('b', status))));
  expect(doors.map((place) => place?.otherDoors.length)).toEqual([0, 1, 1]);
});

it('is found for many orders in several turns, once for each driver', async () => {
  const rows = Array.from({ length: 24 }, (_, index) => {
    const driver = Math.floor(index / 4);
    const orders = Array.from({ length: 8 }, (_, n) => parcel(`${driver} ${n}`, 'picked_up', 0, { driver_slot: n }));
    return { id: `${driver} ${index % 4}`, driver_id: driver, on_route: route(...orders) };
  });
  let turns = 1;
  let isDone = false;
  function turn(): void {
    turns += 1;
    if (!isDone) setImmediate(turn);
  }
  setImmediate(turn);
  const places = await placesOnRoutes([...rows, { id: 'waits', driver_id: null, on_route: null }]);
  isDone = true;
  // Four drivers with eight parcels each in one turn, and two in the next.
  expect(turns).toBe(2);
  for (const { id, on_route } of rows) expect(places.get(id)).toEqual(placeOnRoute(id, on_route));
  expect(places.size).toBe(24);
});

it('is told for a second as it was planned, unless anything of the route is another', () => {
  const waiting = route(parcel('a', 'driver_assigned', 7));
  const place = placeOnRoute('a', waiting);
  expect(placeOnRoute('a', { ...waiting, at_ms: NOW + 1_000 })).toEqual(place);
  const later = placeOnRoute('a', { ...waiting, at_ms: NOW + 30_000 });
  expect(later?.doorInMinutes).toBeCloseTo((place?.doorInMinutes ?? 0) - 0.5, 6);
  const ready = route(parcel('a', 'driver_assigned'));
  expect(placeOnRoute('a', { ...ready, at_ms: NOW + 1_000 })).not.toEqual(place);
});
