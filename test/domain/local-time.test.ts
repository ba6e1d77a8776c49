import { expect, test } from 'vitest';
import { STATE_CODES } from '../../src/domain/address.ts';
import { weeksBefore, ZONES, zoneOf } from '../../src/domain/local-time.ts';

const SAN_FRANCISCO = { lat: 37.76, lng: -122.42 };
const PHOENIX = { lat: 33.45, lng: -112.07 };
const MILITARY = ['AA', 'AE', 'AP'];
const HOUR_MS = 3_600_000;
const WEEK_MS = 7 * 24 * HOUR_MS;

/** Weekday and time as the clocks of a zone show them. */
function clockOf(timeZone: string): (ms: number) => string {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, weekday: 'short', hour: '2-digit', minute: '2-digit' });
  return (ms) => format.format(ms);
}

test('every state has a zone that this Node knows', () => {
  const unknown = STATE_CODES.filter(
    (state) => !ZONES.includes(zoneOf(`1 Main St, Town, ${state} 12345`, SAN_FRANCISCO)),
  );
  expect(unknown).toEqual([]);
  const byPoint = STATE_CODES.filter(
    (state) =>
      zoneOf(`1 Main St, Town, ${state} 12345`, SAN_FRANCISCO) !== zoneOf(`1 Main St, Town, ${state} 12345`, PHOENIX),
  );
  expect(byPoint).toEqual(MILITARY);
  for (const zone of ZONES) expect(clockOf(zone)(0)).toMatch(/^\w+/);
});

test.each([
  ['2 N Central Ave, Phoenix, AZ 85004', SAN_FRANCISCO, 'America/Phoenix'],
  ['99501 Ak Road, Anchorage, ak 99501-1234', SAN_FRANCISCO, 'America/Anchorage'],
  ['One Test Square', SAN_FRANCISCO, 'America/Los_Angeles'],
  ['One Test Square', PHOENIX, 'America/Phoenix'],
  ['One Test Square', { lat: 21.3, lng: -157.86 }, 'Pacific/Honolulu'],
  ['One Test Square', { lat: 40.7, lng: -74 }, 'America/New_York'],
  ['One Test Square', { lat: 36.17, lng: -115.14 }, 'America/Los_Angeles'],
] as const)('%s at %o is in its zone', (address, point, zone) => {
  expect(zoneOf(address, point)).toBe(zone);
});

test.each([
  ['America/Los_Angeles', 'forward', Date.UTC(2026, 2, 6)],
  ['America/Los_Angeles', 'back', Date.UTC(2026, 9, 30)],
  ['America/New_York', 'forward', Date.UTC(2026, 2, 6)],
  ['America/Phoenix', 'nowhere', Date.UTC(2026, 2, 6)],
])('in %s weeks before, the clocks showed the same, in each hour around their change %s', (zone, change, fromMs) => {
  const shown = clockOf(zone);
  const differs: string[] = [];
  for (let hour = 0; hour < 14 * 24; hour++) {
    const ms = fromMs + hour * HOUR_MS;
    const before = weeksBefore(ms, 1, zone);
    expect(Math.abs(ms - WEEK_MS - before)).toBeLessThanOrEqual(HOUR_MS);
    if (shown(before) !== shown(ms)) differs.push(shown(ms));
  }
  // The hour that is skipped was not there a week before.
  expect(differs).toEqual(change === 'forward' ? ['Sun 02:00 AM'] : []);
});
