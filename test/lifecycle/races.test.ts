import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gate } from '../http/support.ts';
import { startProcess } from './city.ts';
import { addDriver, addOrder, STORE, Tables } from './tables.ts';

/** Holds the matching steps until they are let go; all others happen at once. */
function holding(tables: Tables, step: RegExp): { letGo(): Promise<void> } {
  const { opened, open } = gate();
  tables.turn = async (what) => {
    if (step.test(what)) await opened;
  };
  return {
    async letGo() {
      tables.turn = async () => undefined;
      open();
      await nextTurn();
    },
  };
}

/** A process with these drivers at the store, which hears no notices where it is `deaf`. */
async function openOne(drivers: readonly string[], hears: 'deaf' | 'notices' = 'notices') {
  const tables = new Tables();
  for (const id of drivers) addDriver(tables, { id, position: { ...STORE, atMs: tables.now() } });
  const process = await startProcess(tables, 'process');
  onTestFinished(() => process.close());
  tables.swallowsNotices = hears === 'deaf';
  return { tables, process };
}

describe('an order that is given without an answer rings its driver once', () => {
  it('where it is new', async () => {
    const { process } = await openOne(['driver']);
    expect(await process.place('standard', 'unknown_and_late')).toEqual({ kind: 'outcome_unknown' });
    await expect.poll(() => process.rung).toEqual(['driver']);
  });

  it.each([
    ['was written', /assign order to driver is answered/],
    ['was not, and is made again', /assign order to driver is carried out/],
  ])('where it waited, and its assignment %s', async (_what, step) => {
    const { tables, process } = await openOne(['driver']);
    addOrder(tables, 'order', 1_000);
    await process.fleet.rebuild();
    tables.turn = async (what) => {
      if (!step.test(what)) return;
      tables.turn = async () => undefined;
      throw Object.assign(new Error('the reply was lost'), { code: 'CONNECTION_CLOSED' });
    };
    await process.redispatch.matchOrder('order');
    await expect.poll(() => tables.carried('driver')?.id).toBe('order');
    // Its notices are read, and what follows is done.
    for (let turns = 0; turns < 20; turns++) await nextTurn();
    expect(process.rung).toEqual(['driver']);
  });
});

describe('while an assignment is being written', () => {
  it('an order that loses its driver takes one who arrived while it was marked', async () => {
    const { tables, process } = await openOne(['lost', 'late']);
    await process.actions.setDuty('late', false);
    addOrder(tables, 'order', 1_000);
    await process.fleet.rebuild();
    const held = holding(tables, /assign order to lost is carried out/);
    const assigning = process.redispatch.matchDriver('lost');
    // Another process sets the first driver off duty.
    (tables.drivers.get('lost') as { onDuty: boolean }).onDuty = false;
    await process.actions.setDuty('late', true);
    await held.letGo();
    await assigning;
    expect(tables.carried('late')?.id).toBe('order');
  });

  it.each<[string, (tables: Tables) => void, (tables: Tables) => void]>([
    ['whose order is cancelled meanwhile', () => undefined, (tables) => tables.cancel('cli', 'lost')],
    [
      'who is excluded from an order',
      (tables) => {
        tables.assign('elsewhere', 'lost', 'driver');
        tables.release('elsewhere', 'lost', 'driver');
      },
      () => undefined,
    ],
  ])('a driver %s takes another waiting order', async (_what, before, meanwhile) => {
    const { tables, process } = await openOne(['driver'], 'deaf');
    addOrder(tables, 'lost', 1_000);
    await process.fleet.rebuild();
    before(tables);
    const held = holding(tables, /assign lost to driver is carried out/);
    const assigning = process.redispatch.matchOrder('lost');
    meanwhile(tables);
    addOrder(tables, 'other', 1_000);
    await process.redispatch.requeue('other');
    expect(tables.carried('driver')).toBeUndefined();
    await held.letGo();
    await assigning;
    expect(tables.carried('driver')?.id).toBe('other');
  });

  it('a driver whom a new order lost takes it after all if they are back when they are read again', async () => {
    const { tables, process } = await openOne(['driver'], 'deaf');
    tables.setDuty('elsewhere', 'driver', false);
    const held = holding(tables, /fleet driver is carried out/);
    const placed = await process.place();
    expect(placed).toMatchObject({ order: { status: 'pending_dispatch' } });
    tables.setDuty('elsewhere', 'driver', true);
    await held.letGo();
    await nextTurn();
    expect(tables.carried('driver')).toBeDefined();
  });

  it('a driver whose order is cancelled before the reply to its assignment is free', async () => {
    const { tables, process } = await openOne(['driver']);
    addOrder(tables, 'cancelled', 1_000);
    await process.fleet.rebuild();
    const held = holding(tables, /assign cancelled to driver is answered/);
    const assigning = process.redispatch.matchOrder('cancelled');
    await nextTurn();
    expect(tables.carried('driver')?.id).toBe('cancelled');
    await process.cancelOrder('cancelled', 'store', 'other');
    expect(process.matcher.isWaiting('cancelled')).toBe(false);
    await held.letGo();
    await assigning;
    expect(process.matcher.driver('driver')).toMatchObject({ carried: [] });
    addOrder(tables, 'next', 0);
    await process.redispatch.requeue('next');
    expect(tables.carried('driver')?.id).toBe('next');
  });

  it('a driver who was claimed for an order that was not created takes a waiting one', async () => {
    const { tables, process } = await openOne(['driver']);
    const held = holding(tables, /commit of .* is carried out/);
    const placing = process.place('standard', 'refused');
    addOrder(tables, 'order', 1_000);
    await nextTurn();
    await process.redispatch.requeue('order');
    expect(tables.carried('driver')).toBeUndefined();
    await held.letGo();
    expect(await placing).toEqual({ kind: 'internal' });
    await nextTurn();
    expect(tables.carried('driver')?.id).toBe('order');
  });
});

describe('a read with a late reply', () => {
  it('does not undo a later read', async () => {
    const { tables, process } = await openOne(['driver']);
    const held = holding(tables, /(fleet driver|states of order) is answered/);
    addOrder(tables, 'order', 1_000);
    tables.assign('elsewhere', 'order', 'driver');
    const early = [process.fleet.refreshDrivers(['driver']), process.fleet.refreshOrders(['order'])];
    await nextTurn();
    tables.turn = async () => undefined;
    tables.change('elsewhere', 'order', ['driver_assigned'], null, (order) => {
      order.status = 'pending_dispatch';
      order.driverId = null;
      order.excluded = ['driver'];
    });
    await process.fleet.refreshOrders(['order']);
    await process.fleet.refreshDrivers(['driver']);
    await held.letGo();
    await Promise.all(early);
    expect(process.matcher.isWaiting('order')).toBe(true);
    expect(process.matcher.driver('driver')).toMatchObject({ carried: [] });
  });

  it('does not give an order back to the driver who released it', async () => {
    const { tables, process } = await openOne(['driver'], 'deaf');
    addOrder(tables, 'order');
    tables.assign('elsewhere', 'order', 'driver');
    const held = holding(tables, /fleet driver is answered/);
    const early = process.fleet.refreshDrivers(['driver']);
    await nextTurn();
    tables.release('elsewhere', 'order', 'driver');
    await process.fleet.refreshOrders(['order']);
    await held.letGo();
    await early;
    expect(process.matcher.isWaiting('order')).toBe(true);
    expect(process.matcher.driver('driver')).toMatchObject({ carried: [] });
  });

  it('does not hide that an order was released before the reply to its assignment', async () => {
    const { tables, process } = await openOne(['driver', 'late'], 'deaf');
    await process.actions.setDuty('late', false);
    addOrder(tables, 'order');
    await process.fleet.rebuild();
    const held = holding(tables, /(assign order to|fleet) driver is answered/);
    const assigning = process.redispatch.matchOrder('order');
    await nextTurn();
    tables.release('elsewhere', 'order', 'driver');
    const reading = process.fleet.refreshOrders(['order']);
    await process.actions.setDuty('late', true);
    await held.letGo();
    await Promise.all([assigning, reading]);
    expect(process.matcher.driver('driver')).toMatchObject({ carried: [] });
    expect(tables.carried('late')?.id).toBe('order');
  });
});

describe('a driver whom a read finds free', () => {
  it('takes a waiting order, as the change feed will not find the holder of theirs', async () => {
    const { tables, process } = await openOne(['driver'], 'deaf');
    for (const id of ['carried', 'waits']) addOrder(tables, id, 1_000);
    tables.assign('elsewhere', 'carried', 'driver');
    await process.fleet.rebuild();
    tables.release('elsewhere', 'carried', 'driver');
    await process.fleet.refreshDrivers(['driver']);
    await nextTurn();
    expect(tables.carried('driver')?.id).toBe('waits');
  });

  it('is read again if another driver carries the order that they hold in memory', async () => {
    const { tables, process } = await openOne(['first', 'second'], 'deaf');
    addOrder(tables, 'order', 1_000);
    tables.assign('elsewhere', 'order', 'first');
    await process.fleet.rebuild();
    tables.release('elsewhere', 'order', 'first');
    process.matcher.wait(tables.waitingRow('order'));
    await process.redispatch.matchOrder('order');
    expect(tables.carried('second')?.id).toBe('order');
    expect(process.matcher.driver('first')).toMatchObject({ carried: [] });
  });
});
