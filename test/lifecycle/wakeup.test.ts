import { setImmediate as nextTurn } from 'node:timers/promises';
import fc, { type Scheduler } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TierId } from '../../src/domain/tier.ts';
import { displaced } from '../geo/places.ts';
import { runs } from '../harness/counts.ts';
import { orderOf } from '../matcher/carrying.ts';
import { type PlannedOutcome, type Process, startProcess } from './city.ts';
import { addDriver, addOrder, FAR, STORE, Tables, turnsOf } from './tables.ts';

type Command =
  | { readonly kind: 'place'; readonly at: number; readonly tierId: TierId; readonly planned: PlannedOutcome }
  | { readonly kind: 'lose_connection' | 'sweep'; readonly at: number }
  | { readonly kind: 'cancel'; readonly at: number; readonly order: number }
  | {
      readonly kind: 'on_duty' | 'off_duty' | 'come_near' | 'go_far' | 'release' | 'finish';
      readonly at: number;
      readonly driver: number;
    };

const DRIVERS = 3;
/**
 * The process of a command; LOST is one that dies right after its commit, of which only the notice arrives.
 */
const at = fc.nat({ max: 1 });
const LOST = 2;
const atOrLost = fc.nat({ max: LOST });
const one = <Name extends string>(...names: Name[]) => fc.constantFrom<Name>(...names);
const planned = one<PlannedOutcome>(
  'taken',
  'taken',
  'taken',
  'taken',
  'refused',
  'unknown_and_late',
  'unknown_and_lost',
);
const tierId = one<TierId>('standard', 'priority');
const order = fc.nat({ max: 3 });
const driver = fc.nat({ max: DRIVERS - 1 });
const drives = one('on_duty', 'on_duty', 'off_duty', 'come_near', 'go_far', 'release', 'release', 'finish');
const event: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: one('place'), at: atOrLost, tierId, planned }) },
  { weight: 1, arbitrary: fc.record({ kind: one('lose_connection'), at }) },
  { weight: 2, arbitrary: fc.record({ kind: one('cancel'), at: atOrLost, order }) },
  { weight: 8, arbitrary: fc.record({ kind: drives, at: atOrLost, driver }) },
);
const sweep: fc.Arbitrary<Command> = fc.record({ kind: one('sweep'), at });

async function openCity(processes: number): Promise<{ tables: Tables; city: Process[] }> {
  const tables = new Tables();
  for (let i = 0; i < DRIVERS; i++) {
    // One is on duty by the store, one off duty near it, one on duty far away.
    const position = { ...(i === 2 ? FAR : displaced(STORE, 100 * i, 0)), atMs: tables.now() };
    const tierIds: TierId[] = i === 1 ? ['standard'] : ['standard', 'priority'];
    addDriver(tables, { id: `driver-${i}`, tierIds, onDuty: i !== 1, position });
  }
  const city: Process[] = [];
  for (let i = 0; i < processes; i++) city.push(await startProcess(tables, `process${i}`));
  for (const one of city) for (const other of city) if (one !== other) one.tell(other);
  return { tables, city };
}

/** Does the same at a process that dies right after its commit. */
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

/** Runs a command; resolves when it is answered. A command that cannot apply counts as done. */
async function act(what: Command, process: Process, tables: Tables): Promise<unknown> {
  switch (what.kind) {
    case 'place':
      return process.place(what.tierId, what.planned);
    case 'lose_connection':
      return process.loseConnection();
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
  return process.actions.deliver(action, { name: 'photo', isBlank: false });
}

/** Waits until nothing is scheduled or about to be. A sweep yields to other work now and then. */
async function untilQuiet(scheduler: Scheduler): Promise<void> {
  for (let idleTurns = 0; idleTurns < 20; idleTurns++) {
    if (scheduler.count() > 0) idleTurns = 0;
    await scheduler.waitIdle();
    await nextTurn();
  }
}

/**
 * Runs the commands at times of the scheduler's choice. A driver waits for an answer before the next command.
 */
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
      const driver = matcher.driver(id);
      expect([driver?.onDuty, orderOf(driver)]).toEqual([onDuty, tables.carried(id)?.id ?? null]);
    }
  }
}

/**
 * An order that another process assigned before its own commit was answered may stay in memory until the
 * sweep.
 */
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
  // A sweep reads and matches in between, and must not undo what events do.
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
      { numRuns: Number(process.env.RUNS ?? runs(40, 400)), seed: Number(process.env.SEED ?? 20_251) },
    );
  });
});
