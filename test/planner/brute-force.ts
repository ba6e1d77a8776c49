import { modelTravelMs, Place } from '../../src/planner/place.ts';
import type { OpenOrder, PlannedDriver, Rules } from '../../src/planner/types.ts';
import { offset } from '../harness/world.ts';

export const MINUTE_MS = 60_000;
const CENTRE = { lat: 40, lng: -90 };

export const RULES: Rules = {
  travelMs: modelTravelMs,
  mayCarry: () => true,
  pickupBeforeMs: 2 * MINUTE_MS,
  pickupAfterMs: 2 * MINUTE_MS,
  dropoffBeforeMs: MINUTE_MS,
  dropoffAfterMs: 3 * MINUTE_MS,
  hurryMs: 60 * MINUTE_MS,
  lateCost: 10,
  driverCost: 0.2,
  extendsTold: true,
};

/** A point some meters east and north of a city's centre. */
export const at = (east: number, north: number) => offset(CENTRE, north, east);

export function order(id: string, changes: Partial<OpenOrder> = {}): OpenOrder {
  const base = { pickup: at(0, 0), dropoff: at(3_000, 0), placedMs: 0, readyMs: 0, dueMs: 60 * MINUTE_MS };
  return { id, ...base, weight: 1, room: 1, ...changes };
}

export function driver(id: string, changes: Partial<PlannedDriver> = {}): PlannedDriver {
  const times = { freeAtMs: 0, onDutyMs: 0, offDutyMs: Number.POSITIVE_INFINITY };
  return { id, place: at(0, 0), isPickingUp: false, room: 4, metersPerMinute: 400, told: [], ...times, ...changes };
}

export type Visit = { readonly kind: 'pickup' | 'dropoff'; readonly order: OpenOrder };

/**
 * What a list of stops costs, computed from the rules as they are written down and by nothing of the planner:
 * null where room or shift forbids it.
 */
export function costOf(rules: Rules, driver: PlannedDriver, visits: readonly Visit[], nowMs: number): number | null {
  const startMs = Math.max(driver.freeAtMs, driver.onDutyMs, nowMs);
  const onBoard = visits.filter(({ kind, order: { id } }, i) => {
    return kind === 'dropoff' && !visits.slice(0, i).some((each) => each.order.id === id);
  });
  let load = onBoard.reduce((sum, { order: { room } }) => sum + room, 0);
  let freeMs = startMs;
  let place = new Place(driver.place);
  let isAtPickup = driver.isPickingUp;
  let cost = 0;
  for (const {
    kind,
    order: { pickup, dropoff, readyMs, placedMs, dueMs, weight, room },
  } of visits) {
    const to = new Place(kind === 'pickup' ? pickup : dropoff);
    const isHere = to.point.lat === place.point.lat && to.point.lng === place.point.lng;
    const wayMs = isHere ? 0 : rules.travelMs(place, to, driver.metersPerMinute);
    if (kind === 'pickup') {
      load += room;
      const isSameStop = isHere && isAtPickup;
      const thereMs = isSameStop ? freeMs - rules.pickupAfterMs : freeMs + wayMs + rules.pickupBeforeMs;
      const pickupMs = Math.max(thereMs, readyMs);
      if (load > driver.room || pickupMs > driver.offDutyMs) return null;
      freeMs = pickupMs + rules.pickupAfterMs;
    } else {
      load -= room;
      const doorMs = freeMs + wayMs + rules.dropoffBeforeMs;
      const promiseMs = dueMs - placedMs;
      const lateMs = Math.max(0, doorMs - dueMs);
      cost += weight * Math.min(1, rules.hurryMs / promiseMs) * ((doorMs - placedMs) / MINUTE_MS);
      for (let left = lateMs / MINUTE_MS, minute = rules.lateCost; left > 0; left -= 60, minute *= 2) {
        cost += weight * minute * Math.min(60, left);
      }
      freeMs = doorMs + rules.dropoffAfterMs;
    }
    place = to;
    isAtPickup = kind === 'pickup';
  }
  const [first] = visits;
  if (!first) return 0;
  const wayMs = rules.travelMs(new Place(driver.place), new Place(first.order.pickup), driver.metersPerMinute);
  const latestMs = first.order.readyMs - wayMs - rules.pickupBeforeMs;
  const leaveMs = first.kind === 'pickup' ? Math.max(startMs, latestMs) : startMs;
  return cost + (rules.driverCost * (freeMs - leaveMs)) / MINUTE_MS;
}

/** Every order of stops in which each pickup comes before its dropoff. */
export function* sequences(orders: readonly OpenOrder[]): Generator<Visit[]> {
  const left = orders.map((each) => ({ order: each, next: 'pickup' as 'pickup' | 'dropoff' | null }));
  const visits: Visit[] = [];
  function* go(): Generator<Visit[]> {
    if (visits.length === 2 * orders.length) yield [...visits];
    for (const each of left) {
      const { next } = each;
      if (!next) continue;
      visits.push({ kind: next, order: each.order });
      each.next = next === 'pickup' ? 'dropoff' : null;
      yield* go();
      each.next = next;
      visits.pop();
    }
  }
  yield* go();
}
