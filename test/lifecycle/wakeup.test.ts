import { setImmediate as nextTurn } from 'node:timers/promises';
import fc, { type Scheduler } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { displaced } from '../geo/places.ts';
import { FAR, type Process, STORE, startProcess, Tables, turnsOf } from './city.ts';

type Command =
  | { readonly kind: 'place' | 'place_in_vain' | 'sweep'; readonly at: number }
  | { readonly kind: 'cancel' | 'cancel_elsewhere'; readonly at: number; readonly order: number }
  | {
      readonly kind: 'on_duty' | 'off_duty' | 'come_near' | 'go_far' | 'release' | 'finish';
      readonly at: number;
      readonly driver: number;
    };

const DRIVERS = 3;
const at = fc.nat({ max: 1 });
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('place' as const), at }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('place_in_vain' as const, 'sweep' as const), at }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('cancel' as const, 'cancel_elsewhere' as const),
      at,
      order: fc.nat({ max: 3 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'on_duty' as const,
        'on_duty' as const,
        'off_duty' as const,
        'come_near' as const,
        'go_far' as const,
        'release' as const,
        'release' as const,
        'finish' as const,
      ),
      at,
      driver: fc.nat({ max: DRIVERS - 1 }),
    }),
  },
);

async function openCity(processes: number): Promise<{ tables: Tables; city: Process[] }> {
  const tables = new Tables();
  for (let i = 0; i < DRIVERS; i++) {
    // One stands by the store and works, one is on his way home, one comes from far away.
    const position = { ...(i === 2 ? FAR : displaced(STORE, 100 * i, 0)), atMs: tables.now() };
    tables.drivers.set(`driver-${i}`, { id: `driver-${i}`, onDuty: i !== 1, freeSinceMs: tables.now(), position });
  }
  const city: Process[] = [];
  for (let i = 0; i < processes; i++) city.push(await startProcess(tables, `process${i}`));
  for (const one of city) for (const other of city) if (one !== other) one.tell(other);
  return { tables, city };
}

/** What one person does; resolves when he has his answer. Nothing to do counts as done. */
async function act(what: Command, process: Process, tables: Tables): Promise<unknown> {
  switch (what.kind) {
    case 'place':
      return process.place();
    case 'place_in_vain':
      return process.placeInVain();
    case 'sweep':
      return process.redispatch.sweep();
    case 'cancel':
    case 'cancel_elsewhere': {
      const order = [...tables.orders.values()][what.order];
      if (!order) return;
      if (what.kind === 'cancel') return process.cancelOrder(order.id, 'store', 'other');
      return tables.run('cancel from the command line', () => tables.cancel('cli', order.id));
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

/** Everybody acts at a time of the scheduler's choice; each driver waits for his answer before he acts again. */
async function settle(scheduler: Scheduler, commands: readonly Command[], city: Process[], tables: Tables) {
  const lines = new Map<string, Promise<unknown>>();
  commands.forEach((what, index) => {
    const line = 'driver' in what ? `driver-${what.driver}` : `other-${index}`;
    const process = city[what.at % city.length] as Process;
    const turn = (lines.get(line) ?? Promise.resolve()).then(() => tables.turn(`${what.kind} ${line}`));
    lines.set(
      line,
      turn.then(() => act(what, process, tables)),
    );
  });
  do {
    await scheduler.waitIdle();
    await nextTurn();
  } while (scheduler.count() > 0);
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

describe.each([
  ['one process', 1],
  ['two processes', 2],
])('in %s', (_name, processes) => {
  it('no interleaving leaves an order waiting beside a free driver', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(command, { minLength: 2, maxLength: 10 }),
        async (scheduler, commands) => {
          const { tables, city } = await openCity(processes);
          try {
            tables.turn = turnsOf(scheduler);
            await settle(scheduler, commands, city, tables);
            tables.turn = async () => undefined;
            expectAtRest(city, tables);
          } finally {
            await Promise.all(city.map((process) => process.close()));
          }
        },
      ),
      { numRuns: Number(process.env.RUNS ?? 1_500), seed: Number(process.env.SEED ?? 20_251) },
    );
  });
});

/** Two orders near the store and a driver on duty for each, none of whom anybody was told of. */
async function openUnawareCity(processes: number): Promise<{ tables: Tables; city: Process[] }> {
  const { tables, city } = await openCity(processes);
  tables.swallowsNotices = true;
  for (const id of ['order-a', 'order-b']) {
    const order = { id, point: STORE, sinceMs: tables.now(), driverId: null, excluded: [], sequence: 1 };
    tables.orders.set(id, { ...order, status: 'pending_dispatch' });
  }
  for (const driver of tables.drivers.values()) {
    driver.onDuty = true;
    driver.position = { ...displaced(STORE, 500, 0), atMs: tables.now() };
  }
  return { tables, city };
}

describe('with every event swallowed', () => {
  it('a sweep gives each waiting order that a process knows of to a driver', async () => {
    const { tables, city } = await openUnawareCity(2);
    // What a process knows of without having been woken: it read the tables, and nobody told it to match.
    for (const { fleet } of city) await fleet.rebuild();
    expect(tables.leftOver()).toHaveLength(6);
    await Promise.all(city.map(({ redispatch }) => redispatch.sweep()));
    expect(tables.leftOver()).toEqual([]);
    expect(tables.waiting()).toEqual([]);
    await Promise.all(city.map((process) => process.close()));
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

function addOrder(tables: Tables, id: string, waitedMs: number): void {
  const order = { id, point: STORE, sinceMs: tables.now() - waitedMs, driverId: null, excluded: [], sequence: 1 };
  tables.orders.set(id, { ...order, status: 'pending_dispatch' });
}

async function openOne(drivers: readonly string[]): Promise<{ tables: Tables; process: Process }> {
  const tables = new Tables();
  for (const id of drivers) {
    const position = { ...STORE, atMs: tables.now() };
    tables.drivers.set(id, { id, onDuty: true, freeSinceMs: tables.now(), position });
  }
  return { tables, process: await startProcess(tables, 'process') };
}

describe('what comes free while something is being written', () => {
  it('an order whose driver was lost takes the one who came while it was hidden', async () => {
    const { tables, process } = await openOne(['lost', 'late']);
    await process.actions.setDuty('late', false);
    addOrder(tables, 'order', 1_000);
    await process.fleet.rebuild();
    const held = holding(tables, /assign order to lost is carried out/);
    const assigning = process.redispatch.driverAvailable('lost');
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
    addOrder(tables, 'cancelled', 1_000);
    await process.fleet.rebuild();
    const held = holding(tables, /assign cancelled to driver is carried out/);
    const assigning = process.redispatch.orderWaits('cancelled');
    tables.cancel('cli', 'cancelled');
    addOrder(tables, 'other', 1_000);
    await process.redispatch.waitsAgain('other');
    expect(tables.carried('driver')).toBeUndefined();
    await held.letGo();
    await assigning;
    expect(tables.carried('driver')?.id).toBe('other');
    await process.close();
  });

  it('a driver whose order was cancelled before the answer of its assignment came is free', async () => {
    const { tables, process } = await openOne(['driver']);
    addOrder(tables, 'cancelled', 1_000);
    await process.fleet.rebuild();
    const held = holding(tables, /assign cancelled to driver is answered/);
    const assigning = process.redispatch.orderWaits('cancelled');
    await nextTurn();
    expect(tables.carried('driver')?.id).toBe('cancelled');
    await process.cancelOrder('cancelled', 'store', 'other');
    await held.letGo();
    await assigning;
    expect(process.matcher.driver('driver')).toMatchObject({ orderId: null });
    addOrder(tables, 'next', 0);
    await process.redispatch.waitsAgain('next');
    expect(tables.carried('driver')?.id).toBe('next');
    await process.close();
  });

  it('a driver who was claimed for an order that came to nothing takes the one that waits', async () => {
    const { tables, process } = await openOne(['driver']);
    const held = holding(tables, /commit of .* is carried out/);
    const placing = process.placeInVain();
    addOrder(tables, 'order', 1_000);
    await nextTurn();
    await process.redispatch.waitsAgain('order');
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
    const held = holding(tables, /(fleet driver|news order) is answered/);
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
});
