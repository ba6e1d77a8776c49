import type { ExpectedOrders, WaitPlace } from '../../domain/idle-wait.ts';
import { firstIdAt } from '../../domain/ids.ts';
import { weeksBefore, ZONES, type Zone, zoneOf } from '../../domain/local-time.ts';
import { below, MAX_DEMAND_PLACES, PLANNER_DEMAND_MS } from '../../limits.ts';
import type { Db } from '../db.ts';
import { rowsOf } from '../fragments.ts';

/** Age of the oldest order of the last hours that counts: a sixteenth. Above PLANNER_DEMAND_MS. */
export const DEMAND_BACK_MS = 4 * 60 * 60_000;
/** Weeks before, whose orders at this hour count. */
export const DEMAND_WEEKS = 4;
/** Most orders of the last hours, and of an hour of each week before, that are counted: the newest. */
const DEMAND_ORDERS = 20_000;

below({ PLANNER_DEMAND_MS }, { DEMAND_BACK_MS });

const HOUR_MS = 3_600_000;

/** A time whose orders are counted; an order counts `weight`, half of it when it is `halfMs` old. */
type Window = {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly weight: number;
  readonly halfMs: number | null;
  /** The zones in which it is this time that counts. */
  readonly zones: ReadonlySet<Zone>;
};

const windowRows = rowsOf<Window & { readonly n: number }>([
  ['n', 'int4', ({ n }) => n],
  ['from_id', 'uuid', ({ fromMs }) => firstIdAt(fromMs)],
  ['until_id', 'uuid', ({ untilMs }) => firstIdAt(untilMs)],
  ['weight', 'float8', ({ weight }) => weight],
  ['half_seconds', 'float8', ({ halfMs }) => halfMs && halfMs / 1_000],
]);

/**
 * Where orders are expected, by store's pickup, the most first: from the orders of the last DEMAND_BACK_MS, of
 * which one that is PLANNER_DEMAND_MS old counts half, and from the mean of the coming hour in past weeks, as the
 * clocks at the pickup show it.
 *
 * Orders are found by their ids, which begin with their time (UUID version 7), so this needs no index of its
 * own.
 *
 * @param most orders of each time that are read, the newest
 */
export async function loadDemand(
  { sql }: Db,
  nowMs: number,
  most = DEMAND_ORDERS,
): Promise<(ExpectedOrders & { readonly point: WaitPlace })[]> {
  const windows = windowsAt(nowMs).map((window, n) => ({ ...window, n }));
  const rows = await sql`
    with counted as (
      select w.n, o.pickup_lat as lat, o.pickup_lng as lng, mode() within group (order by r.name) as name,
        min(o.pickup_address) as address,
        sum(w.weight * coalesce(power(2, -extract(epoch from ${new Date(nowMs)}::timestamptz - o.created_at)::float8
          / w.half_seconds), 1)) as weight
      from (${windowRows(sql, windows)}) w cross join lateral (
        select o.retailer_id, o.pickup_lat, o.pickup_lng, o.pickup_address, o.created_at from orders o
        where o.id >= w.from_id and o.id < w.until_id and o.status <> 'void'
        order by o.id desc limit ${most}
      ) o join retailers r on r.id = o.retailer_id and r.status = 'active'
      group by 1, 2, 3
    )
    select lat, lng, mode() within group (order by name) as name, min(address) as address,
      jsonb_object_agg(n, weight) as weights
    from counted group by 1, 2 order by sum(weight) desc, lat, lng limit ${MAX_DEMAND_PLACES}`;
  return rows
    .map(({ lat, lng, name, address, weights }) => {
      const zone = zoneOf(address, { lat, lng });
      const here = windows.filter(({ zones }) => zones.has(zone));
      return { point: { lat, lng, name }, weight: here.reduce((sum, { n }) => sum + (weights[n] ?? 0), 0) };
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight);
}

/** The last hours, and the coming hour of each past week: one time of most zones, another where clocks changed. */
function windowsAt(nowMs: number): Window[] {
  const windows: Window[] = [
    // An order of this very moment may have an id of a process whose clock is ahead.
    {
      fromMs: nowMs - DEMAND_BACK_MS,
      untilMs: nowMs + HOUR_MS,
      weight: 1,
      halfMs: PLANNER_DEMAND_MS,
      zones: new Set(ZONES),
    },
  ];
  for (let week = 1; week <= DEMAND_WEEKS; week++) {
    const zonesAt = new Map<number, Set<Zone>>();
    for (const zone of ZONES) {
      const fromMs = weeksBefore(nowMs, week, zone);
      zonesAt.set(fromMs, (zonesAt.get(fromMs) ?? new Set()).add(zone));
    }
    for (const [fromMs, zones] of zonesAt) {
      windows.push({ fromMs, untilMs: fromMs + HOUR_MS, weight: 1 / DEMAND_WEEKS, halfMs: null, zones });
    }
  }
  return windows;
}
