import { newId } from '../../../src/domain/ids.ts';
import type { OrderStatus } from '../../../src/domain/order.ts';
import type { TierId, Tiers } from '../../../src/domain/tier.ts';
import type { Point } from '../../../src/geo/point.ts';
import type { Sql } from '../../../src/store/connect.ts';
import { later } from '../world.ts';
import { type BankAnswer, CARRIER, type Command, NONE, type Step } from './commands.ts';
import { type Answer, Model, type ModelDriver } from './model.ts';
import { makePlace, onRing, type Place, type PlaceDriver, type PlaceStore } from './place.ts';

/** Who is asked: the operations in this process, or the service over HTTP. */
export type System = {
  /** Whether whoever takes an order knows all that happened before, so that the best driver gets it at once. */
  readonly isExact: boolean;
  readonly settleMs: number;
  create(store: PlaceStore, order: { tierId: TierId; key: string | null; body: number }): Promise<Answer>;
  cancel(store: PlaceStore, orderId: string, reason: string, key: string | null): Promise<Answer>;
  cancelByOperator(orderId: string): Promise<boolean>;
  returnByOperator(orderId: string): Promise<boolean>;
  nudge(orderId: string): Promise<unknown>;
  setDuty(driver: PlaceDriver, onDuty: boolean): Promise<Answer>;
  move(driver: PlaceDriver, to: Point): Promise<unknown>;
  step(step: Step, driver: PlaceDriver, orderId: string, actionId: string | null): Promise<Answer>;
  expire(orderId: string, isDue: boolean): Promise<unknown>;
  suspend(store: PlaceStore, active: boolean): Promise<unknown>;
  deactivate(driver: PlaceDriver): Promise<unknown>;
  sweep(): Promise<unknown>;
  charge(orderId: string, bank: BankAnswer): Promise<Answer>;
  refund(orderId: string, bank: BankAnswer): Promise<Answer>;
  /** What its memory has otherwise than the model; null where it agrees, or cannot be seen. */
  memoryDiffers(model: Model): string | null;
  /** Brings what is owed of these orders to its end, and compares all that is on record with the model. */
  conclude(model: Model): Promise<string | null>;
};

const REASONS = ['out_of_stock', 'duplicate'] as const;

/** Carries out the commands on new stores and drivers. A sentence about the first thing that the model has otherwise. */
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
  const known = await settle(system, sql, model);
  if (known) return `before the first command: ${known}`;
  const all = [...OPENING, ...commands];
  for (const [i, command] of all.entries()) {
    const problem = (await obey(system, place, model, command)) ?? (await settle(system, sql, model));
    if (problem) return `command ${i - OPENING.length} ${JSON.stringify(command)}: ${problem}`;
  }
  return finish(system, sql, place, model);
}

/** Three of four drivers begin on duty, near by. */
const OPENING: readonly Command[] = [0, 1, 2, 3].flatMap((driver): Command[] => [
  { kind: 'move', driver, ring: driver % 2 },
  { kind: 'duty', driver, onDuty: driver < 3 },
]);

/** Every order comes to an end, every driver goes home; then tables and ledgers must say what the model says. */
async function finish(system: System, sql: Sql, place: Place, model: Model): Promise<string | null> {
  for (const driver of place.drivers.keys()) {
    await obey(system, place, model, { kind: 'duty', driver, onDuty: false });
  }
  for (const { id, status } of model.open()) {
    const isCarried = status === 'picked_up' || status === 'undeliverable';
    const isChanged = isCarried ? await system.returnByOperator(id) : await system.cancelByOperator(id);
    const isRight = isCarried ? model.returnByOperator(id) : model.cancelByOperator(id);
    if (isChanged !== isRight) return `at the end: the operator could ${isChanged ? '' : 'not '}end order ${id}`;
  }
  return (await settle(system, sql, model)) ?? system.conclude(model);
}

/** Carries out one command; a sentence where the answer is not the model's. */
async function obey(system: System, place: Place, model: Model, command: Command): Promise<string | null> {
  const orderOf = (back: number): string => [...model.orders.keys()].at(-1 - back) ?? newId();
  switch (command.kind) {
    case 'create':
      return create(system, place, model, command);
    case 'cancel': {
      const { store, order, reason, key } = command;
      const said = REASONS[reason] as string;
      const orderId = orderOf(order);
      const named = key === NONE ? null : `cancel ${key}`;
      const answer = await system.cancel(place.stores[store] as PlaceStore, orderId, said, named);
      return differs(model.cancel(model.stores[store] as never, orderId, said, named), answer);
    }
    case 'operator-cancel':
    case 'operator-return': {
      const orderId = orderOf(command.order);
      const isCancel = command.kind === 'operator-cancel';
      const is = isCancel ? await system.cancelByOperator(orderId) : await system.returnByOperator(orderId);
      const should = isCancel ? model.cancelByOperator(orderId) : model.returnByOperator(orderId);
      return is === should ? null : `it was ${is ? '' : 'not '}done`;
    }
    case 'nudge':
      await system.nudge(orderOf(command.order));
      return null;
    case 'duty': {
      const driver = model.drivers[command.driver] as ModelDriver;
      const answer = await system.setDuty(place.drivers[command.driver] as PlaceDriver, command.onDuty);
      if (driver.isActive) driver.onDuty = command.onDuty;
      return differs({ kind: driver.isActive ? 'done' : 'unauthorized' }, answer);
    }
    case 'move': {
      const driver = model.drivers[command.driver] as ModelDriver;
      const to = onRing(place.point, command.ring, command.driver);
      await system.move(place.drivers[command.driver] as PlaceDriver, to);
      driver.point = to;
      return null;
    }
    case 'step': {
      const orderId = orderOf(command.order);
      const carrier = model.drivers.findIndex(({ id }) => id === model.orders.get(orderId)?.driverId);
      const driver = command.driver === CARRIER ? Math.max(0, carrier) : command.driver;
      const actionId = command.actionId === NONE ? null : `action-${command.actionId}`;
      const answer = await system.step(command.step, place.drivers[driver] as PlaceDriver, orderId, actionId);
      return differs(model.step(command.step, model.drivers[driver] as ModelDriver, orderId, actionId), answer);
    }
    case 'expire': {
      const orderId = orderOf(command.order);
      await system.expire(orderId, command.isDue);
      if (command.isDue) model.expire(orderId);
      return null;
    }
    case 'suspend':
      await system.suspend(place.stores[command.store] as PlaceStore, command.active);
      (model.stores[command.store] as { isActive: boolean }).isActive = command.active;
      return null;
    case 'deactivate': {
      await system.deactivate(place.drivers[command.driver] as PlaceDriver);
      const driver = model.drivers[command.driver] as ModelDriver;
      driver.isActive = false;
      driver.onDuty = false;
      return null;
    }
    case 'sweep':
      await system.sweep();
      return null;
    case 'charge':
    case 'refund': {
      const orderId = orderOf(command.order);
      const answer = await system[command.kind](orderId, command.bank);
      return differs(model[command.kind](orderId, command.bank), answer);
    }
  }
}

async function create(
  system: System,
  place: Place,
  model: Model,
  { store, tierId, key, body }: Command & { readonly kind: 'create' },
): Promise<string | null> {
  const named = key === NONE ? null : `key ${key}`;
  const says = `${tierId} ${body}`;
  const wanted = model.createAnswer(model.stores[store] as never, named, says);
  const sinceMs = Date.now();
  const answer = await system.create(place.stores[store] as PlaceStore, { tierId, key: named, body });
  if (wanted) return differs(wanted, answer);
  const { kind, orderId, status } = answer;
  if (kind !== 'created' || orderId === undefined || status === undefined)
    return `it was told ${JSON.stringify(answer)}`;
  const storeId = (model.stores[store] as { id: string }).id;
  model.created(orderId, { storeId, tierId, says, createdAs: status, sinceMs }, named);
  const hasDriver = model.hasDriver(model.orders.get(orderId) as never);
  const isGiven = status === 'driver_assigned';
  if (isGiven && !hasDriver) return 'it was given to a driver, and none could have it';
  return system.isExact && hasDriver && !isGiven ? 'it waits, and a driver could have it' : null;
}

function differs(wanted: Answer, answer: Answer): string | null {
  const fields = Object.keys(wanted) as (keyof Answer)[];
  // Over HTTP a sequence holds what jobs did meanwhile; an answer that does not tell one is not held to it.
  const isSame = fields.every((field) => answer[field] === wanted[field] || answer[field] === undefined);
  return isSame && answer.kind === wanted.kind ? null : `told ${JSON.stringify(answer)}, not ${JSON.stringify(wanted)}`;
}

/** Waits until nothing is left to match and tables and memory say what the model says. A sentence where they do not. */
async function settle(system: System, sql: Sql, model: Model): Promise<string | null> {
  const untilMs = performance.now() + system.settleMs;
  for (let pauseMs = 0; ; pauseMs = Math.min(pauseMs + 1, 20)) {
    const wrong = await watchTables(system, sql, model);
    if (wrong) return wrong;
    const open = model.leftOver()[0] ?? system.memoryDiffers(model);
    if (open === null) return null;
    if (performance.now() > untilMs) return open;
    await later(pauseMs);
  }
}

/** Gives the model what was given to drivers meanwhile. */
async function watchTables(system: System, sql: Sql, model: Model): Promise<string | null> {
  const ids = model.open().map(({ id }) => id);
  if (ids.length === 0) return null;
  const rows = await sql`select id, status, driver_id from orders where id = any(${ids}::uuid[])`;
  for (const row of rows) {
    const {
      id,
      status,
      driver_id: driverId,
    } = row as unknown as { id: string; status: OrderStatus; driver_id: string };
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
