import type { Point } from '../geo/point.ts';
import { findState } from './address.ts';

/** A zone of the tz database, such as America/Phoenix. */
export type Zone = string;

const WEEK_MS = 7 * 86_400_000;

/**
 * The states by the zone of most of their people. The zones of a state that has two change their clocks on the
 * same days, so a week later is the same hour in both, but for the hours in which only one has changed yet.
 */
const STATES: Readonly<Record<Zone, string>> = {
  'America/New_York': 'CT DC DE FL GA IN KY MA MD ME MI NC NH NJ NY OH PA RI SC VA VT WV',
  'America/Chicago': 'AL AR IA IL KS LA MN MO MS ND NE OK SD TN TX WI',
  'America/Denver': 'CO ID MT NM UT WY',
  'America/Phoenix': 'AZ',
  'America/Los_Angeles': 'CA NV OR WA',
  'America/Anchorage': 'AK',
  'Pacific/Honolulu': 'HI UM',
  'America/Puerto_Rico': 'PR VI',
  'Pacific/Pago_Pago': 'AS',
  'Pacific/Guam': 'GU MP',
  'Pacific/Palau': 'PW',
  'Pacific/Pohnpei': 'FM',
  'Pacific/Majuro': 'MH',
};

/** The zones that a place can be in. */
export const ZONES: readonly Zone[] = Object.keys(STATES);

const ZONE_OF_STATE = new Map(
  Object.entries(STATES).flatMap(([zone, states]) => states.split(' ').map((state) => [state, zone] as const)),
);

/** The zone of a place by the state of its address, or by the point where the address names none. */
export function zoneOf(address: string, point: Point): Zone {
  return ZONE_OF_STATE.get(findState(address) ?? '') ?? zoneAt(point);
}

/** Roughly: what counts is which places change their clocks. */
function zoneAt({ lat, lng }: Point): Zone {
  if (lng > 0) return 'Pacific/Guam';
  if (lat < 20 && lng > -70) return 'America/Puerto_Rico';
  if (lat < 30 && lng < -150) return 'Pacific/Honolulu';
  if (lat > 50 && lng < -129) return 'America/Anchorage';
  if (lat > 31.3 && lat < 37 && lng > -114.6 && lng < -109.05) return 'America/Phoenix';
  if (lng < -114) return 'America/Los_Angeles';
  if (lng < -102) return 'America/Denver';
  return lng < -86 ? 'America/Chicago' : 'America/New_York';
}

/**
 * The time at which clocks of a zone showed the same weekday and hour so many weeks before, in milliseconds since
 * 1970. An hour that the clocks skipped then is the one before or after it.
 */
export function weeksBefore(ms: number, weeks: number, zone: Zone): number {
  const shownMs = ms + offsetMs(ms, zone) - weeks * WEEK_MS;
  // The offset of that day: by the one of now, the time is off by an hour at most.
  const nearMs = shownMs - offsetMs(ms, zone);
  return shownMs - offsetMs(shownMs - offsetMs(nearMs, zone), zone);
}

const formats = new Map<Zone, Intl.DateTimeFormat>();

/** How far the clocks of a zone are ahead of UTC. */
function offsetMs(ms: number, zone: Zone): number {
  let format = formats.get(zone);
  if (!format) {
    const parts = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const;
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', ...parts, second: 'numeric' });
    formats.set(zone, format);
  }
  const shown = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const at = (type: Intl.DateTimeFormatPartTypes): number => shown.get(type) ?? 0;
  const shownMs = Date.UTC(at('year'), at('month') - 1, at('day'), at('hour'), at('minute'), at('second'));
  return shownMs - Math.floor(ms / 1_000) * 1_000;
}
