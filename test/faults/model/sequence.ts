import type { OrderStatus } from '../../../src/domain/order.ts';
import type { Tiers } from '../../../src/domain/tier.ts';
import type { Sql } from '../../../src/postgres/connect.ts';
import { later } from '../world.ts';
import type { Command } from './commands.ts';
import { Model } from './model.ts';
import type { ModelDriver, ModelOrder } from './nouns.ts';
import { obey } from './obey.ts';
import { makePlace, onRing, type Place } from './place.ts';
import type { System } from './system.ts';

/**
 * Carries out the commands on new stores and drivers; returns a sentence about the first difference from the
 * model.
 */
export async function runSequence(
  system: System,
  { sql, tiers }: { readonly sql: Sql; readonly tiers: Tiers },
  commands: readonly Command[],
): Promise<string | null> {
  const place = await makePlace(sql);
  const { point } = place;
  const drivers = place.drivers.map(({ id, tierIds }): ModelDriver => {
    return { id, tierIds, isActive: true, onDuty: false, point: onRing(point, 3, 0), actions: new Map() };
  });
  const model = new Model(
    place.stores.map(({ retailerId }) => retailerId),
    drivers,
    point,
    tiers,
  );
  const known = await converge(system, sql, model);
  if (known) return `before the first command: ${known}`;
  const all = [...OPENING, ...commands];
  for (const [i, command] of all.entries()) {
    const problem = (await obey(system, place, model, command)) ?? (await converge(system, sql, model));
    if (problem) return `command ${i - OPENING.length} ${JSON.stringify(command)}: ${problem}`;
  }
  const problem = await finish(system, place, model);
  return problem ?? (await converge(system, sql, model)) ?? system.conclude(model);
}

/** Three of four drivers start on duty and near. */
const OPENING: readonly Command[] = [0, 1, 2, 3].flatMap((driver): Command[] => [
  { kind: 'move', driver, ring: driver % 2 },
  { kind: 'duty', driver, onDuty: driver < 3 },
]);

/** Ends every order and sends every driver off duty; tables and ledgers must agree with the model afterwards. */
async function finish(system: System, place: Place, model: Model): Promise<string | null> {
  for (const driver of place.drivers.keys()) {
    await obey(system, place, model, { kind: 'duty', driver, onDuty: false });
  }
  return endOrders(system, model, model.open());
}

/** Has the operator end orders. */
async function endOrders(system: System, model: Model, orders: readonly ModelOrder[]): Promise<string | null> {
  for (const { id, status } of orders) {
    const isCarried = status === 'picked_up' || status === 'undeliverable';
    const isChanged = isCarried ? await system.returnByOperator(id) : await system.cancelByOperator(id);
    const isRight = isCarried ? model.returnByOperator(id) : model.cancelByOperator(id);
    if (isChanged !== isRight) return `the operator could ${isChanged ? '' : 'not '}end order ${id}`;
  }
  return null;
}

/**
 * Waits until nothing is left to match and tables and memory agree with the model; returns a sentence where
 * they do not.
 */
async function converge(system: System, sql: Sql, model: Model): Promise<string | null> {
  const startedMs = performance.now();
  for (let pauseMs = 0; ; pauseMs = Math.min(pauseMs + 1, 20)) {
    const wrong = await watchTables(system, sql, model);
    if (wrong) return wrong;
    const open = model.leftOver()[0] ?? system.memoryDiffers(model);
    const tookMs = performance.now() - startedMs;
    if (open === null) {
      system.converged(tookMs);
      model.hasLetGo = false;
      return null;
    }
    if (tookMs > system.convergeMs) return open;
    await later(pauseMs);
  }
}

type Row = {
  readonly id: string;
  readonly status: OrderStatus;
  readonly driverId: string;
  readonly fairStart: Date | null;
};

/** Applies the assignments since then to the model. */
async function watchTables(system: System, sql: Sql, model: Model): Promise<string | null> {
  const ids = model.open().map(({ id }) => id);
  if (ids.length === 0) return null;
  const rows = (await sql`
    select id, status, driver_id as "driverId", fair_start as "fairStart"
    from orders where id = any(${ids}::uuid[])`) as unknown as Row[];
  // Which order was due depends on all of them.
  for (const { id, fairStart } of rows) {
    const order = model.orders.get(id);
    if (order) order.fairStartMs = fairStart?.getTime() ?? null;
  }
  for (const { id, status, driverId } of rows) {
    const order = model.orders.get(id);
    if (!order) continue;
    if (order.status === 'pending_dispatch' && status === 'driver_assigned') {
      const wrong = model.give(order, driverId, system.isExact);
      if (wrong) return wrong;
    } else if (order.status !== status || order.driverId !== driverId) {
      return `order ${id} is ${status} (${driverId}) and not ${order.status} (${order.driverId})`;
    }
  }
  return null;
}
