import { STATEMENT_TIMEOUT_MS } from '../../src/limits.ts';
import type { EventRow, OrderRow, Records } from './checker.ts';
import { groupBy } from './group-by.ts';

/** The time for which an order was a driver's. */
type Carried = { readonly orderId: string; readonly driverId: string; readonly fromMs: number; readonly toMs: number };

const ACTIVE: ReadonlySet<string> = new Set(['driver_assigned', 'picked_up', 'undeliverable']);
const ENDS: ReadonlySet<string> = new Set(['released', 'cancelled', 'delivered', 'returned']);
/** Tolerance, as times are read with microseconds and kept in binary fractions. */
const ROUNDING_MS = 0.01;

/** Checks by the events which driver had which order, and that no driver had more at a time than they carry. */
export function wrongDriverHistories({
  orders,
  events,
  capacities,
}: Pick<Records, 'orders' | 'events' | 'capacities'>): string[] {
  const byOrder = groupBy(events, ({ orderId }) => orderId);
  const wrong: string[] = [];
  const carried = orders.flatMap((order) => {
    if (order.status === 'void') return [];
    const steps = (byOrder.get(order.id) ?? []).toSorted((a, b) => a.sequence - b.sequence);
    const lastDriver = driverAfter(steps);
    if (lastDriver !== order.driverId) wrong.push(`driver: of order ${order.id} is another than its events say`);
    return timesOf(order, steps);
  });
  for (const [driverId, times] of groupBy(carried, (one) => one.driverId)) {
    const inTurn = times.toSorted((a, b) => a.fromMs - b.fromMs || a.toMs - b.toMs);
    for (const [i, { orderId, fromMs }] of inTurn.entries()) {
      const others = inTurn.slice(0, i).filter(({ toMs }) => fromMs + ROUNDING_MS < toMs);
      if (others.length >= (capacities?.get(driverId) ?? 1)) {
        wrong.push(`driver: ${driverId} carried ${others.map((each) => each.orderId)} and ${orderId} at a time`);
      }
    }
  }
  return wrong;
}

/** The driver of an order at the end; an order that ended keeps its last driver. */
function driverAfter(steps: readonly EventRow[]): string | null {
  const last = steps.findLast(({ type }) => type === 'driver_assigned' || type === 'released');
  return last?.type === 'driver_assigned' ? last.driverId : null;
}

function timesOf({ id, status }: OrderRow, steps: readonly EventRow[]): Carried[] {
  return steps.flatMap((step, i): Carried[] => {
    if (step.type !== 'driver_assigned' || step.driverId === null) return [];
    const end = steps.slice(i).find(({ type }) => ENDS.has(type));
    const toMs = end?.atMs ?? (ACTIVE.has(status) ? Number.POSITIVE_INFINITY : step.atMs);
    // An order that has a driver from the start carries the time at which its statement began, which may have
    // waited for the statement that ended the driver's last one.
    const waitedMs = step.sequence === 2 ? STATEMENT_TIMEOUT_MS : 0;
    return [{ orderId: id, driverId: step.driverId, fromMs: Math.min(step.atMs + waitedMs, toMs), toMs }];
  });
}
