import { expect, test } from 'vitest';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import { createPositions } from '../../src/dispatch/positions.ts';
import { DRIVER_SILENT_MS, MAX_CLOCK_LEAD_MS, ROUGH_POSITION_METERS } from '../../src/limits.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { TIERS } from '../matcher/brute-force.ts';
import { carrying } from '../matcher/carrying.ts';

const NOW_MS = 1_700_000_000_000;
const HERE = { lat: 40.73, lng: -73.99 };

function process() {
  const matcher = new Matcher(TIERS);
  const driver = { tierIds: ['standard' as const], onDuty: true, position: null, freeSinceMs: 0 };
  matcher.putDriver({ ...driver, id: 'free', carried: [] });
  matcher.putDriver({ ...driver, id: 'busy', carried: [carrying('carried')] });
  const seen: string[] = [];
  const clock = { nowMs: NOW_MS };
  const events = new OrderEvents();
  events.subscribe({
    driverMoved: ({ driverId }, orderId) => seen.push(`moved ${driverId} with ${orderId}`),
    positionReported: ({ driverId }) => seen.push(`shared ${driverId}`),
  });
  const positions = createPositions({
    matcher,
    writer: { put: ({ driverId }) => seen.push(`written ${driverId}`) },
    redispatch: { driverAvailable: (driverId) => seen.push(`available ${driverId}`) },
    events,
    clock: { now: () => clock.nowMs },
  });
  return { matcher, positions, seen, clock };
}

test('a report is in memory, is written, goes to other processes, and is shown with the driver’s order', () => {
  const { matcher, positions, seen } = process();
  expect(positions.report('busy', HERE)).toBe('taken');
  expect(matcher.driver('busy')?.position).toEqual({ ...HERE, atMs: NOW_MS });
  expect(seen).toEqual(['moved busy with carried', 'written busy', 'shared busy']);
});

test('a free driver is matched with waiting orders in reach', () => {
  const { matcher, positions, seen } = process();
  matcher.wait({ orderId: 'order', retailerId: 'store', tierId: 'standard', point: HERE, sinceMs: NOW_MS });
  expect(positions.report('free', HERE)).toBe('taken');
  expect(positions.report('busy', HERE)).toBe('taken');
  expect(seen.filter((what) => what.startsWith('available'))).toEqual(['available free']);
  expect(seen).toContain('moved free with null');
});

test('a position of another process is neither written nor shared again', () => {
  const { positions, seen } = process();
  positions.receive({ driverId: 'busy', ...HERE, atMs: NOW_MS });
  expect(seen).toEqual(['moved busy with carried']);
});

test('an older position, an unknown driver and an impossible point change nothing and say why', () => {
  const { matcher, positions, seen } = process();
  positions.receive({ driverId: 'free', ...HERE, atMs: NOW_MS });
  seen.length = 0;
  const before = matcher.driver('free');
  expect(positions.report('free', { lat: 1, lng: 1, capturedAtMs: NOW_MS - 1 })).toBe('older');
  expect(positions.report('nobody', HERE)).toBe('unknown_driver');
  expect(positions.report('free', { lat: 91, lng: 0 })).toBe('off_range');
  expect([matcher.driver('free'), matcher.carriedBy('nobody'), seen]).toEqual([before, [], []]);
});

test.each([
  ['within the lead that a clock may have', MAX_CLOCK_LEAD_MS],
  ['from further ahead', MAX_CLOCK_LEAD_MS + 1],
])('a time in the future, %s, counts as now', (_what, leadMs) => {
  const { matcher, positions } = process();
  expect(positions.report('free', { ...HERE, capturedAtMs: NOW_MS + leadMs })).toBe('taken');
  expect(matcher.driver('free')?.position?.atMs).toBe(NOW_MS);
});

test('once the clock was set back, as by a failover, what drivers report counts again', () => {
  const { matcher, positions, clock } = process();
  expect(positions.report('free', HERE)).toBe('taken');
  clock.nowMs -= MAX_CLOCK_LEAD_MS;
  expect(positions.report('free', HERE)).toBe('older');
  clock.nowMs -= 1;
  const there = { lat: HERE.lat + 0.1, lng: HERE.lng };
  expect(positions.report('free', there)).toBe('taken');
  expect(matcher.driver('free')?.position).toEqual({ ...there, atMs: clock.nowMs });
});

test('a rough position moves no driver who was last known to be within it, and places any other', () => {
  const { matcher, positions } = process();
  const at = (north: number) => ({ lat: HERE.lat + north / 111_195, lng: HERE.lng });
  const place = () => matcher.driver('free')?.position;
  const rough = { accuracyMeters: ROUGH_POSITION_METERS + 1 };
  expect(positions.report('free', { ...at(0), ...rough, capturedAtMs: NOW_MS - 3_000 })).toBe('taken');
  expect(place()).toEqual({ ...at(0), atMs: NOW_MS - 3_000 });
  // They are heard of all the same.
  expect(positions.report('free', { ...at(900), ...rough, capturedAtMs: NOW_MS - 2_000 })).toBe('taken');
  expect(place()).toEqual({ ...at(0), atMs: NOW_MS - 2_000 });
  expect(positions.report('free', { ...at(900), accuracyMeters: 30, capturedAtMs: NOW_MS - 1_000 })).toBe('taken');
  expect(place()).toMatchObject(at(900));
  expect(positions.report('free', { ...at(5_000), ...rough })).toBe('taken');
  expect(place()).toMatchObject(at(5_000));
});

test('a rough position places a driver of whom nothing was heard for long', () => {
  const { matcher, positions } = process();
  positions.receive({ driverId: 'free', ...HERE, atMs: NOW_MS - DRIVER_SILENT_MS - 1 });
  const near = { lat: HERE.lat + 0.005, lng: HERE.lng };
  expect(positions.report('free', { ...near, accuracyMeters: ROUGH_POSITION_METERS + 1 })).toBe('taken');
  expect(matcher.driver('free')?.position).toMatchObject(near);
});
