import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ORDER_STATUSES } from '../../src/domain/order.ts';
import {
  OTHER_DOOR_METERS,
  roundedToKilometer,
  SHOWN_AFTER_PROMISE_MS,
  SHOWN_SQUARE_METERS,
} from '../../src/domain/shown-position.ts';
import { HOME_PIN_METERS, isGone, TRACKING_GONE_AFTER_MS, trackingView } from '../../src/tracking/view.ts';
import { assigned, behind, DRIVER_ID, delivered, NOW_MS, pickedUp, trackedOrder } from './orders.ts';

const position = { lat: 40.74567, lng: -73.98765, atMs: NOW_MS - 12_000 };

/** Great-circle distance in meters (haversine), written out here so that the test trusts nothing of the code. */
function meters(a: { lat: number; lng: number }, b: { lat: number; lng: number }): number {
  const rad = Math.PI / 180;
  const h =
    Math.sin(((b.lat - a.lat) * rad) / 2) ** 2 +
    Math.cos(a.lat * rad) * Math.cos(b.lat * rad) * Math.sin(((b.lng - a.lng) * rad) / 2) ** 2;
  return 2 * 6_371_008.8 * Math.asin(Math.min(1, Math.sqrt(h)));
}

describe('the position of the driver', () => {
  it('is exact between pickup and delivery, with its age', () => {
    expect(trackingView(pickedUp(), position, NOW_MS).driver).toEqual({
      first_name: 'Ana',
      position: { lat: 40.74567, lng: -73.98765, precision: 'exact', at: '2026-03-02T14:59:48.000Z', age_ms: 12_000 },
    });
  });

  it('is rounded between assignment and pickup', () => {
    const shown = trackingView(assigned(), position, NOW_MS).driver?.position;
    expect(shown).toMatchObject({ lat: 40.75, precision: 'approximate' });
    expect(shown?.lng).not.toBe(position.lng);
    const nearby = trackingView(assigned(), { ...position, lat: 40.7481, lng: -73.9871 }, NOW_MS).driver?.position;
    expect(nearby).toMatchObject({ lat: shown?.lat, lng: shown?.lng });
  });

  it('is not shown in any other status', () => {
    for (const status of ORDER_STATUSES) {
      if (status === 'driver_assigned' || status === 'picked_up') continue;
      const view = trackingView(delivered({ status }), position, NOW_MS);
      expect(view.driver?.position ?? null).toBeNull();
      expect(JSON.stringify(view)).not.toContain('40.74567');
    }
  });

  it('is not shown at the door of another parcel on board, but where this one is nearer', () => {
    const north = (meters: number) => ({ lat: 40 + meters / 111_195, lng: -73.9 });
    const seenAt = (meters: number, door: number, accuracyMeters = 20) => {
      const otherDoors = [{ ...north(0), accuracyMeters }];
      const onRoute = { stopsBefore: 0, isNext: true, doorInMinutes: 20, door: north(door), otherDoors };
      const order = pickedUp({ onRoute });
      return trackingView(order, { ...north(meters), atMs: NOW_MS }, NOW_MS).driver?.position !== null;
    };
    expect([0, OTHER_DOOR_METERS - 1, OTHER_DOOR_METERS + 1].map((meters) => seenAt(meters, 5_000))).toEqual([
      false,
      false,
      true,
    ]);
    expect([0, 49, 51, 100].map((meters) => seenAt(meters, 100))).toEqual([false, false, true, true]);
    // Two parcels of one house; a door known by its street; one by its ZIP code.
    expect([seenAt(0, 0), seenAt(600, 5_000, 1_000), seenAt(600, 5_000, 10_000)]).toEqual([true, false, true]);
  });

  it.each([1, 2, null])('is not shown while the driver has %s doors before this one', (stopsBefore) => {
    for (const order of [assigned({ onRoute: behind(stopsBefore) }), pickedUp({ onRoute: behind(stopsBefore) })]) {
      const view = trackingView(order, position, NOW_MS);
      expect(view.driver).toEqual({ first_name: 'Ana', position: null });
      expect([view.arrival, view.stops_before]).toEqual([null, stopsBefore]);
      const dropoff = { lat: 40.75, lng: -73.99, accuracyMeters: 10 };
      const arrival = stopsBefore === null ? null : { earliest_minutes: 15, latest_minutes: 30 };
      expect(trackingView({ ...order, dropoff }, position, NOW_MS).arrival).toEqual(arrival);
      const silent = { ...order, onRoute: behind(stopsBefore, null) };
      expect(trackingView({ ...silent, dropoff }, position, NOW_MS).arrival).toBeNull();
    }
  });

  it('is not shown long after the promise, when the driver may be at home', () => {
    const deliverBy = new Date(NOW_MS - SHOWN_AFTER_PROMISE_MS).toISOString();
    for (const order of [assigned(), pickedUp()]) {
      const seenAt = (nowMs: number, assignedAt = order.assignedAt) =>
        trackingView({ ...order, deliverBy, assignedAt }, position, nowMs).driver?.position ?? null;
      expect([seenAt(NOW_MS - 1, deliverBy) !== null, seenAt(NOW_MS, deliverBy)]).toEqual([true, null]);
      // One that had to wait for its driver counts from then.
      expect(seenAt(NOW_MS, new Date(NOW_MS - SHOWN_AFTER_PROMISE_MS + 1).toISOString())).not.toBeNull();
    }
  });

  it('never has a negative age', () => {
    expect(trackingView(pickedUp(), { ...position, atMs: NOW_MS + 900 }, NOW_MS).driver?.position?.age_ms).toBe(0);
  });

  it('is rounded to the middle of a square of about a kilometer anywhere on Earth', () => {
    const lat = fc.double({ min: -90, max: 90, noNaN: true });
    const lng = fc.double({ min: -180, max: 180, noNaN: true });
    fc.assert(
      fc.property(lat, lng, (lat, lng) => {
        const rounded = roundedToKilometer({ lat, lng });
        expect(Math.abs(rounded.lat)).toBeLessThanOrEqual(90);
        expect(Math.abs(rounded.lng)).toBeLessThanOrEqual(180);
        expect(meters({ lat, lng }, rounded)).toBeLessThanOrEqual(SHOWN_SQUARE_METERS);
        expect(roundedToKilometer(rounded)).toEqual(rounded);
      }),
    );
  });
});

describe('the door', () => {
  const dropoff = { lat: 40.786, lng: -73.9897, accuracyMeters: HOME_PIN_METERS };
  const home = (order: ReturnType<typeof trackedOrder>) => trackingView(order, position, NOW_MS).home;

  it('is on the map once it is the next one', () => {
    expect(home(pickedUp({ dropoff }))).toEqual({ lat: 40.786, lng: -73.9897 });
  });

  it('is nowhere before and after that, nor where it is not well known', () => {
    const hidden = [
      assigned({ dropoff }),
      pickedUp({ dropoff, onRoute: behind(1) }),
      pickedUp({ dropoff, onRoute: null }),
      pickedUp({ dropoff: { ...dropoff, accuracyMeters: HOME_PIN_METERS + 1 } }),
      pickedUp({ dropoff: null }),
      pickedUp({ dropoff, status: 'undeliverable' }),
      delivered({ dropoff }),
    ];
    for (const order of hidden) {
      expect(home(order)).toBeNull();
      expect(JSON.stringify(trackingView(order, position, NOW_MS))).not.toContain('40.786');
    }
  });
});

describe('what a customer sees', () => {
  it('holds no identifier of the order or the driver', () => {
    const text = JSON.stringify(trackingView(pickedUp(), position, NOW_MS));
    expect(text).not.toContain(DRIVER_ID);
    expect(text).not.toContain(pickedUp().orderId);
  });

  it('says of an order for later when it comes, and of no other that it is planned', () => {
    const planned = {
      from: new Date(NOW_MS + 3_600_000).toISOString(),
      to: new Date(NOW_MS + 7_200_000).toISOString(),
    };
    const view = trackingView(trackedOrder({ planned }), null, NOW_MS);
    expect(view).toMatchObject({
      is_planned: true,
      headline: 'Your order comes later',
      detail: 'A driver sets out to Corner Books in time.',
      arrival: { earliest_minutes: 60, latest_minutes: 120 },
    });
    expect(trackingView(trackedOrder(), null, NOW_MS)).toMatchObject({ is_planned: false, arrival: null });
  });

  it('says until when an order is promised, while it may still be kept', () => {
    const deliverBy = '2026-03-02T16:00:00.000Z';
    for (const order of [trackedOrder(), assigned(), pickedUp()]) {
      expect(trackingView(order, null, NOW_MS)).toMatchObject({ arrival: null, deliver_by: deliverBy });
    }
    const over = [delivered(), pickedUp({ status: 'undeliverable' }), trackedOrder({ status: 'cancelled' })];
    for (const order of over) expect(trackingView(order, null, NOW_MS).deliver_by).toBeNull();
    expect(trackingView(pickedUp(), null, Date.parse(deliverBy)).deliver_by).toBeNull();
  });

  it.each([
    ['cancelled', 'Not delivered: the order was cancelled', 'Cancelled', /if you did not expect this/],
    ['expired', 'Not delivered: no driver was found', 'No driver found', /No driver could take it in time/],
    ['undeliverable', 'Not delivered: the handover was not possible', 'Not delivered', /is being brought back/],
    ['returned', 'Not delivered: the order went back to the store', 'Back at the store', /what happens next/],
  ] as const)('of an order that is %s is a sentence of its own', (status, headline, label, detail) => {
    const view = trackingView(pickedUp({ status, endedAt: '2026-03-02T14:50:00.000Z' }), null, NOW_MS);
    expect(view.headline).toBe(headline);
    expect(view.stages.at(-1)).toMatchObject({ label, state: 'failed', at: '2026-03-02T14:50:00.000Z' });
    expect(view.stages.map(({ id }) => id)).not.toContain('delivered');
    expect(view.detail).toMatch(detail);
    expect(view.detail).toContain('ask Corner Books');
    expect(view.arrival).toBeNull();
  });

  it('says why a handover failed, and nothing of the kind of an order that was cancelled', () => {
    const failed = (status: 'undeliverable' | 'returned' | 'cancelled') =>
      trackingView(pickedUp({ status, reason: 'nobody_home' }), null, NOW_MS);
    for (const status of ['undeliverable', 'returned'] as const) {
      expect(failed(status)).toMatchObject({
        reason: 'nobody_home',
        detail: expect.stringMatching(/^Nobody was there to take it\. /),
      });
    }
    expect(failed('cancelled')).toMatchObject({ reason: null, detail: expect.not.stringContaining('Nobody') });
  });

  it('says that another driver is looked for where the first gave the order back', () => {
    const view = trackingView(trackedOrder({ sequence: 4, wasReleased: true }), null, NOW_MS);
    expect(view.headline).toBe('Finding another driver for your order');
    expect(view.detail).toBe('The first one cannot come. We are looking for another near Corner Books.');
    expect(trackingView(trackedOrder(), null, NOW_MS).headline).toBe('Finding a driver for your order');
  });

  it('links the photo of a delivered order only', () => {
    expect(trackingView(delivered(), null, NOW_MS).photo_url).toBe(`/track/${delivered().trackingToken}/photo`);
    expect(trackingView(delivered({ hasPhoto: false }), null, NOW_MS).photo_url).toBeNull();
    expect(trackingView(pickedUp({ hasPhoto: true }), null, NOW_MS).photo_url).toBeNull();
  });

  it('shows the path with what is done, what is on and what is ahead', () => {
    const states = (order: ReturnType<typeof trackedOrder>) =>
      trackingView(order, null, NOW_MS).stages.map((stage) => stage.state);
    expect(states(trackedOrder())).toEqual(['current', 'upcoming', 'upcoming', 'upcoming']);
    expect(states(assigned())).toEqual(['done', 'current', 'upcoming', 'upcoming']);
    expect(states(pickedUp())).toEqual(['done', 'done', 'current', 'upcoming']);
    expect(states(delivered())).toEqual(['done', 'done', 'done', 'done']);
  });

  it('shows nothing of a driver who gave the order back', () => {
    const view = trackingView(assigned({ status: 'pending_dispatch', sequence: 3 }), position, NOW_MS);
    expect(view.driver).toBeNull();
    expect(view.stages[1]).toMatchObject({ state: 'upcoming', at: null });
    expect(JSON.stringify(view)).not.toContain('Ana');
  });
});

it('lets a link end a bounded time after its order, and never before', () => {
  const endMs = Date.parse('2026-03-02T14:45:00.000Z');
  expect(isGone(delivered(), endMs + TRACKING_GONE_AFTER_MS)).toBe(false);
  expect(isGone(delivered(), endMs + TRACKING_GONE_AFTER_MS + 1)).toBe(true);
  expect(isGone(pickedUp(), endMs + 10 * TRACKING_GONE_AFTER_MS)).toBe(false);
  for (const status of ['cancelled', 'expired', 'undeliverable', 'returned'] as const) {
    const order = pickedUp({ status, endedAt: '2026-03-02T14:45:00.000Z' });
    expect(isGone(order, endMs + TRACKING_GONE_AFTER_MS)).toBe(false);
    expect(isGone(order, endMs + TRACKING_GONE_AFTER_MS + 1)).toBe(true);
  }
});
