import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Place } from '../../src/planner/place.ts';
import type { Deed } from '../../test/harness/planned-day.ts';
import type { Delivery, PlannedInstance } from './day.ts';
import type { Instance } from './instance.ts';

const MINUTE_MS = 60_000;

/**
 * Writes a planned day as the evaluator of MDRPLIB reads it (`MDRP_code/compute_performance_summary.py`): tables
 * of assignments, orders and the couriers' ways, in minutes. An assignment is what a courier takes over at one
 * stop, in the order of the doors.
 */
export function writeSolution(folder: string, instance: Instance, day: PlannedInstance): void {
  const directory = join(folder, instance.name);
  mkdirSync(directory, { recursive: true });
  const delivered = new Map(
    day.deliveries.filter(({ doorAt }) => doorAt !== null).map((each) => [each.order.id, each]),
  );
  const write = (name: string, head: string, lines: readonly string[]) => {
    writeFileSync(join(directory, `solution_info_${name}.txt`), `${[head, ...lines].join('\n')}\n`);
  };
  write('assignments', 'assignment_time pickup_time courier orders', assignments(day, delivered));
  const courierOf = new Map(day.deeds.map(({ order, driverId }) => [order?.id, driverId]));
  write(
    'orders',
    'order placement_time ready_time pickup_time dropoff_time courier',
    Array.from(delivered.values(), ({ order, pickedUpAt, doorAt }) => {
      return [order.id, order.placedAt, order.readyAt, pickedUpAt, doorAt, courierOf.get(order.id)].join(' ');
    }),
  );
  write('couriers', 'courier departure_time origin destination', ways(instance, day.deeds));
}

function assignments({ deeds, toldAt }: PlannedInstance, delivered: ReadonlyMap<string, Delivery>): string[] {
  const bundles: { courier: string; orders: Delivery[] }[] = [];
  const open = new Map<string, Delivery[]>();
  for (const { kind, driverId, order, isSameStop } of deeds) {
    const delivery = delivered.get(order?.id ?? '');
    if (kind !== 'pickup' || !delivery) continue;
    const same = isSameStop ? open.get(driverId) : undefined;
    if (same) same.push(delivery);
    else {
      const orders = [delivery];
      open.set(driverId, orders);
      bundles.push({ courier: driverId, orders });
    }
  }
  return bundles.map(({ courier, orders }) => {
    orders.sort((a, b) => (a.doorAt ?? 0) - (b.doorAt ?? 0));
    const ids = orders.map(({ order }) => order.id);
    const toldAtLast = Math.max(...ids.map((id) => toldAt.get(id) as number));
    return [toldAtLast, orders[0]?.pickedUpAt, courier, ...ids].join(' ');
  });
}

/** The ways of each courier; an idle one goes to a store too. */
function ways(instance: Instance, deeds: readonly Deed[]): string[] {
  const stores = new Map(instance.orders.map(({ store, pickup: { x, y } }) => [`${x},${y}`, store]));
  const storeAt = ({ point }: Place) => {
    const { x, y } = point as unknown as { x: number; y: number };
    return stores.get(`${x},${y}`) as string;
  };
  const lines = new Map<string, string[]>();
  const last = new Map<string, string>();
  for (const { kind, driverId, order, to, leftMs } of deeds) {
    const id = kind === 'dropoff' ? (order?.id as string) : storeAt(to);
    const from = last.get(driverId) ?? driverId;
    if (from === id) continue;
    last.set(driverId, id);
    const own = lines.get(driverId) ?? [];
    lines.set(driverId, own);
    own.push([driverId, leftMs / MINUTE_MS, from, id].join(' '));
  }
  return [...lines.values()].flat();
}
