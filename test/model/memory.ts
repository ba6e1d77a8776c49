import type { FleetDriver } from '../../src/domain/driver.ts';
import type { CarriedOrder } from '../../src/domain/route.ts';
import type { WaitingOrder } from '../../src/matcher/matcher.ts';
import type { Sql } from '../../src/postgres/connect.ts';
import type { At, DriverRow, OrderRow, Picture } from './picture.ts';
import type { ModelProcess } from './process.ts';

/** A commit takes no longer. */
const COMMIT_MS = 5_000;

/** By so much a process may wake an order before its time, or later than the tables. */
const DUE_MS = 2_000;
const STEPS: Readonly<Record<string, string>> = {
  driver_assigned: 'to_fetch',
  picked_up: 'on_board',
  undeliverable: 'returning',
};

const textOf = (at: At | null | undefined): string => (at ? `${at.lat.toFixed(6)},${at.lng.toFixed(6)}` : 'unknown');

/** What differs, in a word and as a sentence. */
export type Difference = { readonly kind: string; readonly text: string };

/** The differences between the memory of a process and the tables. */
export function* memoryDiffers(
  { id, matcher }: ModelProcess,
  picture: Picture,
  nowMs: number,
): Generator<Difference, void> {
  const differ = (kind: string, text: string): Difference => ({
    kind: `memory_${kind}`,
    text: `memory of ${id}: ${text}`,
  });
  const later = new Map<string, WaitingOrder>();
  for (const order of matcher.planned.dueBy(Number.POSITIVE_INFINITY)) later.set(order.orderId, order);
  const open = new Map(picture.orders.map((order) => [order.id, order]));
  for (const order of picture.orders) {
    if (order.status !== 'pending_dispatch' || order.expiresMs <= nowMs) continue;
    const held = matcher.waitingOrder(order.id) ?? later.get(order.id);
    if (!held) yield differ('waiting', `order ${order.id} waits in the tables alone`);
    else {
      for (const [what, text] of waitingDiffers(held, order)) yield differ(what, `waiting order ${order.id}: ${text}`);
      if (later.has(order.id) && (order.dispatchFromMs ?? 0) < nowMs - DUE_MS) {
        yield differ('later', `order ${order.id} is due and waits for its time`);
      }
    }
    const isHeld = matcher.holdOf(order.retailerId) === 'store_suspended';
    if (isHeld === order.isStoreActive)
      yield differ('hold', `store ${order.retailerId} is ${isHeld ? '' : 'not '}held there alone`);
  }
  for (const { orderId } of [...matcher.waitingOrders(), ...later.values()]) {
    // One whose time is up waits in the tables until a sweep ends it.
    if (open.get(orderId)?.status !== 'pending_dispatch') yield differ('waiting', `order ${orderId} waits there alone`);
  }
  for (const driver of picture.drivers) {
    const known = matcher.driver(driver.id);
    if (!known) yield differ('driver', `driver ${driver.id} is not known`);
    else {
      for (const [what, text] of driverDiffers(known, driver, picture.orders))
        yield differ(what, `driver ${driver.id}: ${text}`);
    }
  }
}

type Named = readonly [what: string, text: string];

function waitingDiffers(held: WaitingOrder, order: OrderRow): Named[] {
  return differing([
    ['pickup', textOf(held.point), textOf(order.pickup)],
    ['door', textOf(held.dropoff), textOf(order.door)],
    ['tier', held.tierId, order.tier],
    ['size', held.size ?? 'small', order.size],
    ['ready', held.readyAtMs, Math.round(order.readyMs ?? order.createdMs)],
    ['window', held.deliverAfterMs ?? null, order.deliverAfterMs],
    ['promise', held.deliverByMs, Math.round(order.deliverByMs)],
    ['given_back', [...(held.excludedDriverIds ?? [])].sort().join(), [...order.excluded].sort().join()],
    ['charged', held.isCharged ?? false, order.payment === 'processing' || order.payment === 'paid'],
  ]);
}

function driverDiffers(known: FleetDriver, driver: DriverRow, orders: readonly OrderRow[]): Named[] {
  const inTables = orders.filter(({ driverId }) => driverId === driver.id);
  const wrong = differing([
    ['duty', known.onDuty, driver.onDuty],
    ['duty_end', driver.onDuty ? (known.onDutyUntilMs ?? null) : null, driver.onDuty ? driver.untilMs : null],
    ['capacity', known.capacity ?? 1, driver.capacity],
    ['vehicle', known.vehicle ?? 'car', driver.vehicle],
    ['tiers', [...known.tierIds].sort().join(), [...driver.tiers].sort().join()],
    [
      'carried',
      known.carried
        .map(({ orderId }) => orderId)
        .sort()
        .join(),
      inTables
        .map((order) => order.id)
        .sort()
        .join(),
    ],
  ]);
  return wrong.concat(
    known.carried.flatMap((carried) => {
      const order = inTables.find((each) => each.id === carried.orderId);
      return order ? carriedDiffers(carried, order) : [];
    }),
  );
}

function carriedDiffers(carried: CarriedOrder, order: OrderRow): Named[] {
  return differing([
    ['carried_step', carried.step, STEPS[order.status]],
    ['carried_slot', carried.slot, order.slot],
    ['carried_pickup', textOf(carried.pickup), textOf(order.pickup)],
    ['carried_door', textOf(carried.dropoff), textOf(order.door)],
    // Memory counts it from the request, and the tables from the commit.
    ['carried_promise', isNear(carried.deliverByMs, order.deliverByMs), true],
  ]);
}

const isNear = (ms: number, otherMs: number): boolean => Math.abs(ms - otherMs) <= COMMIT_MS;

function differing(pairs: readonly (readonly [what: string, memory: unknown, tables: unknown])[]): Named[] {
  return pairs
    .filter(([, memory, tables]) => memory !== tables)
    .map(([what, memory, tables]) => [
      what,
      `${what} is ${String(memory)} in memory and ${String(tables)} in the tables`,
    ]);
}

/** What is wrong with the rows of plans; null where nothing is. */
export async function leftPlan(sql: Sql): Promise<string | null> {
  const [row] = await sql`
    select p.order_id, p.epoch, o.status, (select max(epoch) from planner_leases) as newest
    from plans p left join orders o on o.id = p.order_id
    where o.status is distinct from 'pending_dispatch' or p.epoch < (select max(epoch) from planner_leases)
    order by p.order_id limit 1`;
  if (!row) return null;
  return `the plan of order ${row.order_id} is left: ${row.status}, epoch ${row.epoch} of ${row.newest}`;
}

/** What is wrong with the history of orders; null where nothing is. */
export async function wrongHistory(sql: Sql): Promise<string | null> {
  const [row] = await sql`
    select order_id, type, before from (
      select order_id, type, sequence, lag(type) over (partition by order_id order by sequence) as before
      from order_events where type in ('created', 'driver_assigned', 'released', 'cancelled', 'expired')
    ) e
    where (type = 'driver_assigned' and before = 'driver_assigned')
      or (type = 'driver_assigned' and before in ('cancelled', 'expired')) or (type = 'released' and before <> 'driver_assigned')
    limit 1`;
  return row ? `order ${row.order_id} is ${row.type} after ${row.before}` : null;
}
