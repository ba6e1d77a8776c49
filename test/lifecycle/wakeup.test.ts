import { setImmediate as nextTurn } from 'node:timers/promises';
import fc, { type Scheduler } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TierId } from '../../src/domain/tier.ts';
import { displaced } from '../geo/places.ts';
import { type Fate, type Process, startProcess } from './city.ts';
import { addDriver, addOrder, FAR, STORE, Tables, turnsOf } from './tables.ts';

type Command =
  | { readonly kind: 'place'; readonly at: number; readonly tierId: TierId; readonly fate: Fate }
  | { readonly kind: 'lose_line' | 'sweep'; readonly at: number }
  | { readonly kind: 'cancel'; readonly at: number; readonly order: number }
  | {
      readonly kind: 'on_duty' | 'off_duty' | 'come_near' | 'go_far' | 'release' | 'finish';
      readonly at: number;
      readonly driver: number;
    };

const DRIVERS = 3;
/** Where it happens: in one of the processes, or in one that dies as soon as it has committed, so its notice is all. */
const at = fc.nat({ max: 1 });
const LOST = 2;
const atOrLost = fc.nat({ max: LOST });
const one = <Name extends string>(...names: Name[]) => fc.constantFrom<Name>(...names);
const fate = one<Fate>('taken', 'taken', 'taken', 'taken', 'refused', 'unknown_and_late', 'unknown_and_lost');
const tierId = one<TierId>('standard', 'priority');
const order = fc.nat({ max: 3 });
const driver = fc.nat({ max: DRIVERS - 1 });
const drives = one('on_duty', 'on_duty', 'off_duty', 'come_near', 'go_far', 'release', 'release', 'finish');
const event: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: one('place'), at: atOrLost, tierId, fate }) },
  { weight: 1, arbitrary: fc.record({ kind: one('lose_line'), at }) },
  { weight: 2, arbitrary: fc.record({ kind: one('cancel'), at: atOrLost, order }) },
  { weight: 8, arbitrary: fc.record({ kind: drives, at: atOrLost, driver }) },
);
const sweep: fc.Arbitrary<Command> = fc.record({ kind: one('sweep'), at });

async function openCity(processes: number): Promise<{ tables: Tables; city: Process[] }> {
  const tables = new Tables();
  for (let i = 0; i < DRIVERS; i++) {
    // One stands by the store and works, one is on the way home, one comes from far away.
    const position = { ...(i === 2 ? FAR : displaced(STORE, 100 * i, 0)), atMs: tables.now() };
    const tierIds: TierId[] = i === 1 ? ['standard'] : ['standard', 'priority'];
    addDriver(tables, { id: `driver-${i}`, tierIds, onDuty: i !== 1, position });
  }
  const city: Process[] = [];
  for (let i = 0; i < processes; i++) city.push(await startProcess(tables, `process${i}`));
  for (const one of city) for (const other of city) if (one !== other) one.tell(other);
  return { tables, city };
}

/** The same by a process of which nothing is left but what it committed. */
async function actAndDie(what: Command, tables: Tables): Promise<unknown> {
  const order = 'order' in what ? [...tables.orders.values()][what.order] : undefined;
  return tables.run(`lost ${what.kind}`, () => {
    if (what.kind === 'place') {
      addOrder(tables, `lost-${tables.orders.size}`);
      return tables.notify('lost', 'order', `lost-${tables.orders.size - 1}`);
    }
    if (order) return tables.cancel('lost', order.id);
    if (!('driver' in what)) return;
    const driverId = `driver-${what.driver}`;
    if (what.kind === 'on_duty' || what.kind === 'off_duty') {
      return tables.setDuty('lost', driverId, what.kind === 'on_duty');
    }
    const carried = tables.carried(driverId);
    if (what.kind === 'release' && carried) return tables.release('lost', carried.id, driverId);
    if (what.kind === 'finish' && carried) return tables.finish('lost', carried.id);
  });
}

/** What one person does; resolves when they have their answer. Nothing to do counts as done. */
async function act(what: Command, process: Process, tables: Tables): Promise<unknown> {
  switch (what.kind) {
    case 'place':
      return process.place(what.tierId, what.fate);
    case 'lose_line':
      return process.loseLine();
    case 'sweep':
      return process.sweep.run();
    case 'cancel': {
      const order = [...tables.orders.values()][what.order];
      return order && process.cancelOrder(order.id, 'store', 'other');
    }
    default:
      return drive(what.kind, `driver-${what.driver}`, process, tables);
  }
}

async function drive(kind: string, driverId: string, process: Process, tables: Tables): Promise<unknown> {
  if (kind === 'on_duty' || kind === 'off_duty') return process.actions.setDuty(driverId, kind === 'on_duty');
  if (kind === 'come_near') return process.positions.report(driverId, displaced(STORE, 50, 50));
  if (kind === 'go_far') return process.positions.report(driverId, FAR);
  const order = tables.carried(driverId);
  if (!order) return;
  const action = { driverId, orderId: order.id, stamp: { actionId: null, capturedAt: null } };
  if (kind === 'release') return process.actions.release(action, 'other');
  await process.actions.pickUp(action);
  return process.actions.deliver(action, 'photo');
}

/** Nothing is scheduled any more, nor on its way to be: a sweep lets other work go first now and then. */
async function untilQuiet(scheduler: Scheduler): Promise<void> {
  for (let idleTurns = 0; idleTurns < 20; idleTurns++) {
    if (scheduler.count() > 0) idleTurns = 0;
    await scheduler.waitIdle();
    await nextTurn();
  }
}

/** Everybody acts at a time of the scheduler's choice; each driver waits for the answer before they act again. */
async function actAll(scheduler: Scheduler, commands: readonly Command[], city: Process[], tables: Tables) {
  const lines = new Map<string, Promise<unknown>>();
  commands.forEach((what, index) => {
    const line = 'driver' in what ? `driver-${what.driver}` : `other-${index}`;
    const process = city[what.at % city.length] as Process;
    const happens = () => (what.at === LOST ? actAndDie(what, tables) : act(what, process, tables));
    const turn = (lines.get(line) ?? Promise.resolve()).then(() => tables.turn(`${what.kind} ${line}`));
    lines.set(line, turn.then(happens));
  });
  await untilQuiet(scheduler);
  await Promise.all(lines.values());
}

function expectAtRest(city: Process[], tables: Tables): void {
  expect(city.flatMap(({ errors }) => errors)).toEqual([]);
  expect(tables.leftOver()).toEqual([]);
  const waiting = tables.waiting().map(({ id }) => id);
  for (const { matcher } of city) {
    expect(waiting.filter((id) => !matcher.isWaiting(id))).toEqual([]);
    for (const [id, { onDuty }] of tables.drivers) {
      expect(matcher.driver(id)).toMatchObject({ onDuty, orderId: tables.carried(id)?.id ?? null });
    }
  }
}

/** An order may be remembered that another process took before its own commit was answered; no longer than to the sweep. */
async function expectSweptClean(city: Process[], tables: Tables): Promise<void> {
  for (const { matcher, sweep } of city) {
    await sweep.run();
    const remembered = Array.from(matcher.waitingOrders(), ({ orderId }) => orderId);
    expect(remembered.sort()).toEqual(
      tables
        .waiting()
        .map(({ id }) => id)
        .sort(),
    );
  }
}

describe.each([
  ['one process', 1, event],
  ['two processes', 2, event],
  // A sweep reads and matches in between; what the events do must stand that, too.
  ['two processes that sweep', 2, fc.oneof({ weight: 5, arbitrary: event }, { weight: 1, arbitrary: sweep })],
] as const)('in %s', (_name, processes, command) => {
  it('no interleaving leaves an order waiting beside a free driver', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(command, { minLength: 2, maxLength: 10 }),
        async (scheduler, commands) => {
          const { tables, city } = await openCity(processes);
          try {
            tables.turn = turnsOf(scheduler);
            await actAll(scheduler, commands, city, tables);
            tables.turn = async () => undefined;
            expectAtRest(city, tables);
            await expectSweptClean(city, tables);
          } finally {
            await Promise.all(city.map((process) => process.close()));
          }
        },
      ),
      { numRuns: Number(process.env.RUNS ?? 400), seed: Number(process.env.SEED ?? 20_251) },
    );
  });
});

/** Holds the steps that fit until they are let go; everything else happens at once. */
function holding(tables: Tables, step: RegExp): { letGo(): Promise<void> } {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  tables.turn = async (what) => {
    if (step.test(what)) await gate;
  };
  return {
    async letGo() {
      tables.turn = async () => undefined;
      open();
      await nextTurn();
    },
  };
}

async function openOne(drivers: readonly string[]): Promise<{ tables: Tables; process: Process }> {
  const tables = new Tables();
  for (const id of drivers) addDriver(tables, { id, position: { ...STORE, atMs: tables.now() } });
  return { tables, process: await startProcess(tables, 'process') };
}

describe('what comes free while something is being written', () => {
  it('an order whose driver was lost takes the one who came while it was hidden', async () => {
    const { tables, process } = await openOne(['lost', 'late']);
    await process.actions.setDuty('late', false);
    addOrder(tables, 'order', 1_000);
    await process.fleet.rebuild();
    const held = holding(tables, /assign order to lost is carried out/);
    const assigning = process.redispatch.matchDriver('lost');
    // Another process sends the first one home.
    (tables.drivers.get('lost') as { onDuty: boolean }).onDuty = false;
    await process.actions.setDuty('late', true);
    await held.letGo();
    await assigning;
    expect(tables.carried('late')?.id).toBe('order');
    await process.close();
  });

  it('a driver whose order was cancelled meanwhile takes the other one that waits', async () => {
    const { tables, process } = await openOne(['driver']);
    tables.swallowsNotices = true;
    addOrder(tables, 'cancelled', 1_000);
    await process.fleet.rebuild();
    const held = holding(tables, /assign cancelled to driver is carried out/);
    const assigning = process.redispatch.matchOrder('cancelled');
    tables.cancel('cli', 'cancelled');
    addOrder(tables, 'other', 1_000);
    await process.redispatch.requeue('other');
    expect(tables.carried('driver')).toBeUndefined();
    await held.letGo();
    await assigning;
    expect(tables.carried('driver')?.id).toBe('other');
    await process.close();
  });

  it('a driver whom an order may not have takes the other one that waits', async () => {
    const { tables, process } = await openOne(['driver']);
    tables.swallowsNotices = true;
    addOrder(tables, 'given-back', 1_000);
    await process.fleet.rebuild();
    tables.assign('elsewhere', 'given-back', 'driver');
    tables.release('elsewhere', 'given-back', 'driver');
    const held = holding(tables, /assign given-back to driver is carried out/);
    const assigning = process.redispatch.matchOrder('given-back');
    addOrder(tables, 'other', 1_000);
    await process.redispatch.requeue('other');
    expect(tables.carried('driver')).toBeUndefined();
    await held.letGo();
    await assigning;
    expect(tables.carried('driver')?.id).toBe('other');
    await process.close();
  });

  it('a driver whom a new order lost takes it after all, if they are back when they are read again', async () => {
    const { tables, process } = await openOne(['driver']);
    tables.swallowsNotices = true;
    tables.setDuty('elsewhere', 'driver', false);
    const held = holding(tables, /fleet driver is carried out/);
    const placed = await process.place();
    expect(placed).toMatchObject({ order: { status: 'pending_dispatch' } });
    tables.setDuty('elsewhere', 'driver', true);
    await held.letGo();
    await nextTurn();
    expect(tables.carried('driver')).toBeDefined();
    await process.close();
  });

  it('a driver whose order was cancelled before the answer of its assignment came is free', async () => {
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
    expect(process.matcher.driver('driver')).toMatchObject({ orderId: null });
    addOrder(tables, 'next', 0);
    await process.redispatch.requeue('next');
    expect(tables.carried('driver')?.id).toBe('next');
    await process.close();
  });

  it('a driver who was claimed for an order that came to nothing takes the one that waits', async () => {
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
    await process.close();
  });
});

describe('a reading that is answered late', () => {
  it('does not undo what a later one brought', async () => {
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
    expect(process.matcher.driver('driver')).toMatchObject({ orderId: null });
    await process.close();
  });

  it('does not bring back an order that was given back before', async () => {
    const { tables, process } = await openOne(['driver']);
    tables.swallowsNotices = true;
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
    expect(process.matcher.driver('driver')).toMatchObject({ orderId: null });
    await process.close();
  });

  it('does not hide that an order came back before the answer of its assignment', async () => {
    const { tables, process } = await openOne(['driver', 'late']);
    tables.swallowsNotices = true;
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
    expect(process.matcher.driver('driver')).toMatchObject({ orderId: null });
    expect(tables.carried('late')?.id).toBe('order');
    await process.close();
  });
});

describe('a driver whom a reading finds free', () => {
  it('takes what waits, since the change feed will not find the holder of their order', async () => {
    const { tables, process } = await openOne(['driver']);
    tables.swallowsNotices = true;
    for (const id of ['carried', 'waits']) addOrder(tables, id, 1_000);
    tables.assign('elsewhere', 'carried', 'driver');
    await process.fleet.rebuild();
    tables.release('elsewhere', 'carried', 'driver');
    await process.fleet.refreshDrivers(['driver']);
    await nextTurn();
    expect(tables.carried('driver')?.id).toBe('waits');
    await process.close();
  });

  it('is read again where memory still had them carry the order that another one is given', async () => {
    const { tables, process } = await openOne(['first', 'second']);
    tables.swallowsNotices = true;
    addOrder(tables, 'order', 1_000);
    tables.assign('elsewhere', 'order', 'first');
    await process.fleet.rebuild();
    tables.release('elsewhere', 'order', 'first');
    process.matcher.wait(tables.waitingRow('order'));
    await process.redispatch.matchOrder('order');
    expect(tables.carried('second')?.id).toBe('order');
    expect(process.matcher.driver('first')).toMatchObject({ orderId: null });
    await process.close();
  });
});
