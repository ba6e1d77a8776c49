import type { Lease, PlannedOrder } from '../../src/domain/plan.ts';
import { REGION } from '../../src/domain/plan.ts';
import {
  ARRIVAL_DETOUR,
  ARRIVAL_FAST_METERS_PER_SECOND,
  ARRIVAL_HANDOVER_MS,
  ARRIVAL_SLOW_METERS_PER_SECOND,
  ROUTE_EARLIEST_SHARE,
  ROUTE_LATEST_SHARE,
} from '../../src/limits.ts';
import type { Sql } from '../../src/postgres/connect.ts';
import { PLAN_STEP_MS } from '../../src/store/planning/plan-readings.ts';
import { addOrder, type TestStore } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';

export const MINUTE = 60_000;
export const ACCURACY_METERS = 400;

/** A waiting order whose door is known to ACCURACY_METERS. */
export async function addWaiting(sql: Sql, store: TestStore): Promise<string> {
  const { orderId } = await addOrder(sql, store);
  await locate(sql, orderId);
  return orderId;
}

export const locate = (sql: Sql, orderId: string) => sql`
  update dropoff_addresses a
  set lat = 37.77, lng = -122.42, accuracy_meters = ${ACCURACY_METERS}, point_source = 'geocoder'
  from orders o where o.id = ${orderId} and a.id = o.dropoff_address_id`;

export async function leaseOf(sql: Sql, processId = 'planner'): Promise<Lease> {
  const lease = await storeOf(sql, processId).takeLease(REGION, 10 * MINUTE);
  if (!lease) throw new Error('another process has the lease');
  return lease;
}

/** The time of the tables in milliseconds. */
export async function nowMs(sql: Sql): Promise<number> {
  const [row] = await sql`select extract(epoch from now())::float8 * 1000 as at`;
  return Math.floor(row?.at);
}

/** A plan by which the order is at the door at that time, ten minutes after its pickup. */
export const plan = (orderId: string, driverId: string, doorMs: number): PlannedOrder => ({
  orderId,
  driverId,
  pickupMs: doorMs - 10 * MINUTE,
  doorMs,
});

/** What a reading at this time says of a planned handover. */
export function rangeAt(doorMs: number, readMs: number): { from: string; to: string } {
  const atMs = Math.floor(readMs / PLAN_STEP_MS) * PLAN_STEP_MS;
  const offMs = (speed: number) => ((ACCURACY_METERS * ARRIVAL_DETOUR) / speed) * 1_000;
  const aheadMs = Math.max(0, doorMs - atMs);
  const fromMs = Math.min(doorMs, atMs + aheadMs * ROUTE_EARLIEST_SHARE - offMs(ARRIVAL_FAST_METERS_PER_SECOND));
  const slackMs = ARRIVAL_HANDOVER_MS + offMs(ARRIVAL_SLOW_METERS_PER_SECOND);
  const toMs = atMs + MINUTE + Math.max(aheadMs, PLAN_STEP_MS) * ROUTE_LATEST_SHARE + slackMs;
  const onMinute = (ms: number) => new Date(Math.floor(ms / MINUTE) * MINUTE).toISOString();
  return { from: onMinute(Math.max(atMs, fromMs)), to: onMinute(toMs) };
}

/** What `read` finds, and when, within one step of the clock. */
export async function inOneStep<Result>(
  sql: Sql,
  read: () => Promise<Result>,
): Promise<{ readonly found: Result; readonly readMs: number }> {
  for (;;) {
    const readMs = await nowMs(sql);
    const found = await read();
    const endMs = await nowMs(sql);
    if (Math.floor(readMs / PLAN_STEP_MS) === Math.floor(endMs / PLAN_STEP_MS)) return { found, readMs };
  }
}
