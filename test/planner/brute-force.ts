import { modelTravelMs, Place } from '../../src/planner/place.ts';
import { ANYONE, type OpenOrder, type PlannedDriver, type Rules } from '../../src/planner/types.ts';
import { offset } from '../harness/world.ts';

export const MINUTE_MS = 60_000;
const CENTRE = { lat: 40, lng: -90 };

export const RULES: Rules = {
  travelMs: modelTravelMs,
  reachOf: () => ANYONE,
  mayCarry: () => true,
  pickupBeforeMs: 2 * MINUTE_MS,
  pickupAfterMs: 2 * MINUTE_MS,
  dropoffBeforeMs: MINUTE_MS,
  dropoffAfterMs: 3 * MINUTE_MS,
  hurryMs: 60 * MINUTE_MS,
  lateCost: 10,
  driverCost: 0.2,
  staysInShift: true,
  headStartMs: 0,
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
  const plan = latest(rules, driver, visits, nowMs);
  return plan && plan.cost + (rules.driverCost * (plan.endMs - plan.leaveMs)) / MINUTE_MS;
}

/** A route as it is driven by who leaves as late as makes nothing later at a door; null where it is forbidden. */
export function latest(rules: Rules, driver: PlannedDriver, visits: readonly Visit[], nowMs: number) {
  const startMs = Math.max(driver.freeAtMs, driver.onDutyMs, nowMs);
  const earliest = drive(rules, driver, visits, startMs);
  if (!earliest || visits.length === 0) return earliest && { ...earliest, leaveMs: earliest.endMs };
  // The latest time to leave that makes nothing later at the first door, and so at none: found by halving.
  const first = (doors: readonly number[] | undefined) => doors?.[0] ?? Number.POSITIVE_INFINITY;
  let [leaveMs, tooLateMs] = [startMs, first(earliest.doors)];
  while (tooLateMs - leaveMs > 0.01) {
    const middleMs = (leaveMs + tooLateMs) / 2;
    const isLater = first(drive(rules, driver, visits, middleMs)?.doors) > first(earliest.doors);
    if (isLater) tooLateMs = middleMs;
    else leaveMs = middleMs;
  }
  return { ...earliest, pickups: drive(rules, driver, visits, leaveMs)?.pickups ?? earliest.pickups, leaveMs };
}

/** The cost of the orders, the times of pickups and at the doors, and the end of a route that begins at a time. */
export function drive(rules: Rules, driver: PlannedDriver, visits: readonly Visit[], leaveMs: number) {
  const onBoard = visits.filter(({ kind, order: { id } }, i) => {
    return kind === 'dropoff' && !visits.slice(0, i).some((each) => each.order.id === id);
  });
  let load = onBoard.reduce((sum, { order: { room } }) => sum + room, 0);
  let endMs = leaveMs;
  let place = new Place(driver.place);
  let isAtPickup = driver.isPickingUp;
  let cost = 0;
  const pickups: number[] = [];
  const doors: number[] = [];
  for (const { kind, order: each } of visits) {
    const to = new Place(kind === 'pickup' ? each.pickup : each.dropoff);
    const isHere = to.point.lat === place.point.lat && to.point.lng === place.point.lng;
    const wayMs = isHere ? 0 : rules.travelMs(place, to, driver.metersPerMinute);
    if (kind === 'pickup') {
      load += each.room;
      const isSameStop = isHere && isAtPickup;
      const thereMs = isSameStop ? endMs - rules.pickupAfterMs : endMs + wayMs + rules.pickupBeforeMs;
      const pickupMs = Math.max(thereMs, each.readyMs);
      if (load > driver.room || (!rules.staysInShift && pickupMs > driver.offDutyMs)) return null;
      pickups.push(pickupMs);
      endMs = pickupMs + rules.pickupAfterMs;
    } else {
      load -= each.room;
      const doorMs = Math.max(endMs + wayMs + rules.dropoffBeforeMs, each.doorFromMs ?? 0);
      doors.push(doorMs);
      cost += costAtDoor(rules, each, doorMs);
      endMs = doorMs + rules.dropoffAfterMs;
    }
    if (rules.staysInShift && endMs > driver.offDutyMs) return null;
    place = to;
    isAtPickup = kind === 'pickup';
  }
  return { cost, pickups, doors, endMs };
}

function costAtDoor(rules: Rules, order: OpenOrder, doorMs: number): number {
  const { placedMs, countsFromMs = placedMs, dueMs, weight } = order;
  const minuteCost = weight * Math.min(1, rules.hurryMs / (dueMs - countsFromMs));
  const wholeMs = Math.max(0, doorMs - countsFromMs);
  const cheapMs = doorMs - placedMs - wholeMs;
  let cost = minuteCost * ((wholeMs + 0.2 * cheapMs) / MINUTE_MS);
  const lateMs = Math.max(0, doorMs - dueMs);
  for (let left = lateMs / MINUTE_MS, minute = rules.lateCost; left > 0; left -= 60, minute *= 2) {
    cost += weight * minute * Math.min(60, left);
  }
  return cost;
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
