import type { ExpectedOrders, WaitPlace } from '../domain/idle-wait.ts';
import { DEMAND_BACK_MS, DEMAND_ORDERS, DEMAND_WEEKS, MAX_DEMAND_PLACES, PLANNER_DEMAND_MS } from '../limits.ts';
import type { Db } from './db.ts';
import { rowsOf } from './fragments.ts';

const HOUR_MS = 3_600_000;
const WEEK_MS = 7 * 24 * HOUR_MS;

/** A time whose orders are counted; an order counts `weight`, half of it when it is `halfMs` old. */
type Window = {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly weight: number;
  readonly halfMs: number | null;
};

const windowRows = rowsOf<Window>([
  ['from_id', 'uuid', ({ fromMs }) => firstIdOf(fromMs)],
  ['until_id', 'uuid', ({ untilMs }) => firstIdOf(untilMs)],
  ['weight', 'float8', ({ weight }) => weight],
  ['half_seconds', 'float8', ({ halfMs }) => halfMs && halfMs / 1_000],
]);

/**
 * Where orders are expected, by store's pickup, the most first: from the orders of the last DEMAND_BACK_MS, of
 * which one that is PLANNER_DEMAND_MS old counts half, and from the mean of the coming hour in past weeks.
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
  const rows = await sql`
    select o.pickup_lat as lat, o.pickup_lng as lng, mode() within group (order by r.name) as name,
      sum(w.weight * coalesce(power(2, -extract(epoch from ${new Date(nowMs)}::timestamptz - o.created_at)::float8
        / w.half_seconds), 1)) as weight
    from (${windowRows(sql, windowsAt(nowMs))}) w cross join lateral (
      select o.retailer_id, o.pickup_lat, o.pickup_lng, o.created_at from orders o
      where o.id >= w.from_id and o.id < w.until_id and o.status <> 'void'
      order by o.id desc limit ${most}
    ) o join retailers r on r.id = o.retailer_id and r.status = 'active'
    group by 1, 2 order by weight desc, lat, lng limit ${MAX_DEMAND_PLACES}`;
  return rows.map(({ lat, lng, name, weight }) => ({ point: { lat, lng, name }, weight }));
}

function windowsAt(nowMs: number): Window[] {
  // An order of this very moment may have an id of a process whose clock is ahead.
  const lately = { fromMs: nowMs - DEMAND_BACK_MS, untilMs: nowMs + HOUR_MS, weight: 1, halfMs: PLANNER_DEMAND_MS };
  const weeks = Array.from({ length: DEMAND_WEEKS }, (_, week) => {
    const fromMs = nowMs - (week + 1) * WEEK_MS;
    return { fromMs, untilMs: fromMs + HOUR_MS, weight: 1 / DEMAND_WEEKS, halfMs: null };
  });
  return [lately, ...weeks];
}

/** Sorts before every identifier that was made at a time, and after those made before. */
function firstIdOf(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
