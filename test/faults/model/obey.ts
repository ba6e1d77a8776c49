import { newId } from '../../../src/domain/ids.ts';
import { CARRIER, type Command, NONE } from './commands.ts';
import type { Model } from './model.ts';
import type { Answer, ModelDriver, ModelOrder, ModelStore } from './nouns.ts';
import { onRing, type Place, type PlaceDriver, type PlaceStore } from './place.ts';
import type { System } from './system.ts';

const REASONS = ['out_of_stock', 'duplicate'] as const;

/** Carries out one command; returns a sentence where the answer differs from the model's. */
export async function obey(system: System, place: Place, model: Model, command: Command): Promise<string | null> {
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
      return differs(model.cancel(model.stores[store] as ModelStore, orderId, said, named), answer);
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
      model.setActive(model.stores[command.store] as ModelStore, command.active);
      return null;
    case 'deactivate': {
      await system.deactivate(place.drivers[command.driver] as PlaceDriver);
      model.deactivate(model.drivers[command.driver] as ModelDriver);
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
  const wanted = model.createAnswer(model.stores[store] as ModelStore, named, says);
  const sinceMs = Date.now();
  const wish = { tierId, key: named, body };
  const answer = await system.create(place.stores[store] as PlaceStore, wish);
  if (wanted) return differs(wanted, answer);
  const { kind, orderId, status } = answer;
  if (kind !== 'created' || orderId === undefined || status === undefined)
    return `it was told ${JSON.stringify(answer)}`;
  const storeId = (model.stores[store] as ModelStore).id;
  model.created(orderId, { storeId, tierId, says, createdAs: status, sinceMs }, named);
  const hasDriver = model.hasDriver(model.orders.get(orderId) as ModelOrder);
  const isGiven = status === 'driver_assigned';
  if (isGiven && !hasDriver) return 'it was given to a driver, and none could have it';
  return system.isExact && hasDriver && !isGiven ? 'it waits, and a driver could have it' : null;
}

function differs(wanted: Answer, answer: Answer): string | null {
  const fields = Object.keys(wanted) as (keyof Answer)[];
  // Over HTTP the sequence number includes events of jobs, so it is compared only where the answer has one.
  const isSame = fields.every((field) => answer[field] === wanted[field] || answer[field] === undefined);
  return isSame && answer.kind === wanted.kind ? null : `told ${JSON.stringify(answer)}, not ${JSON.stringify(wanted)}`;
}
