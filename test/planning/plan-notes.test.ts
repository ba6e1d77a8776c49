import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { type Lease, type PlannedOrder, REGION } from '../../src/domain/plan.ts';
import type { Planner } from '../../src/planner/planner.ts';
import { MAX_PLANS_PER_LOOK, PLAN_TOLD_MS, PLANS_REWRITTEN_MS, PlanNotes } from '../../src/planning/plan-notes.ts';
import { StatementGivenUp } from '../../src/postgres/deadline.ts';
import { createLogger } from '../../src/telemetry.ts';

const LEASE: Lease = { region: REGION, epoch: 7 };
const DOOR_MS = 1_000_000;

type Written = { readonly planned: readonly PlannedOrder[]; readonly goneIds: readonly string[] };

/** Null for one that nobody can take. */
let plans: Map<string, Omit<PlannedOrder, 'orderId'> | null>;
let written: Written[];
let write: () => Promise<boolean>;
let notes: PlanNotes;
/** The first write that ends what another process planned. */
let wholeFrom: number | null;
/** Whether the planner has tried each order. */
let isCaughtUp: boolean;
/** The orders whose assignments are being written. */
let given: Set<string>;

beforeEach(() => {
  plans = new Map();
  written = [];
  write = async () => true;
  isCaughtUp = true;
  given = new Set();
  wholeFrom = null;
  const store = {
    writePlans: (lease: Lease, planned: readonly PlannedOrder[], goneIds: readonly string[], isWhole?: boolean) => {
      expect(lease).toEqual(LEASE);
      written.push({ planned, goneIds });
      wholeFrom ??= isWhole ? written.length : null;
      return write();
    },
  };
  notes = new PlanNotes(store, createLogger('silent'));
});

const plan = (orderId: string, driverId = 'd', doorMs = DOOR_MS) =>
  void plans.set(orderId, { driverId, pickupMs: doorMs - 60_000, doorMs });

function note(): Promise<boolean> {
  const estimate: Planner['estimate'] = (orderId) => {
    const known = plans.get(orderId);
    return known === null ? { driverId: null } : known;
  };
  const has = (id: string) => plans.has(id);
  const isBeingGiven = (id: string) => given.has(id);
  const orders = { orderIds: () => plans.keys(), has, isBeingGiven, isCaughtUp, planner: { estimate } as Planner };
  return notes.write(orders, LEASE);
}

const ids = ({ planned }: Written) => planned.map(({ orderId }) => orderId);

test('the first write comes even without plans, as it ends those of the planner before', async () => {
  expect(await note()).toBe(true);
  expect(written).toEqual([{ planned: [], goneIds: [] }]);
  await note();
  expect(written).toHaveLength(1);
});

test('what another process planned ends with the round that begins once every order was tried', async () => {
  isCaughtUp = false;
  await note();
  expect(written).toEqual([]);
  plan('a');
  await note();
  expect([written.length, wholeFrom]).toEqual([1, null]);
  isCaughtUp = true;
  plan('a', 'another');
  await note();
  expect([written.length, wholeFrom]).toEqual([2, 2]);
});

test('writes who is meant and when, once', async () => {
  plan('a');
  plans.set('nobody', null);
  await note();
  await note();
  const first = { orderId: 'a', driverId: 'd', pickupMs: DOOR_MS - 60_000, doorMs: DOOR_MS };
  expect(written).toEqual([{ planned: [first], goneIds: [] }]);
});

test('another driver is news at once, and another time from a bound on, counted from what was written', async () => {
  plan('a');
  await note();
  plan('a', 'd', DOOR_MS + PLAN_TOLD_MS - 1);
  await note();
  expect(written).toHaveLength(1);
  plan('a', 'd', DOOR_MS - PLAN_TOLD_MS);
  await note();
  plan('a', 'e', DOOR_MS - PLAN_TOLD_MS);
  await note();
  expect(written.slice(1).map(({ planned }) => planned.map(({ driverId, doorMs }) => [driverId, doorMs]))).toEqual([
    [['d', DOOR_MS - PLAN_TOLD_MS]],
    [['e', DOOR_MS - PLAN_TOLD_MS]],
  ]);
});

test('what was written is written again after a while, as a crash of Postgres empties the table', async () => {
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => void vi.restoreAllMocks());
  for (const id of ['a', 'b', 'gone']) plan(id);
  await note();
  plans.delete('gone');
  plan('b', 'e');
  nowMs += PLANS_REWRITTEN_MS - 1;
  await note();
  // A change in between puts it off no further.
  nowMs += 1;
  plan('c');
  await note();
  expect(written.map((each) => [ids(each), each.goneIds])).toEqual([
    [['a', 'b', 'gone'], []],
    [['b'], ['gone']],
    [['a', 'b', 'c'], []],
  ]);
});

test('an order that ended, or that nobody can take any more, is forgotten once', async () => {
  plan('ended');
  plan('nobody');
  plan('stays');
  await note();
  plans.delete('ended');
  plans.set('nobody', null);
  await note();
  await note();
  expect(written.slice(1)).toEqual([{ planned: [], goneIds: ['ended', 'nobody'] }]);
});

test('an order that is being given is forgotten once it is given, and not where it comes back', async () => {
  plan('given');
  plan('back');
  await note();
  plans.clear();
  given = new Set(['given', 'back']);
  await note();
  expect(written).toHaveLength(1);
  given.clear();
  plan('back');
  await note();
  expect(written.slice(1)).toEqual([{ planned: [], goneIds: ['given'] }]);
});

test('each look goes through some orders, so that all come in turn and a round begins anew', async () => {
  const all = Array.from({ length: 2 * MAX_PLANS_PER_LOOK + 1 }, (_, i) => `order-${i}`);
  for (const id of all) plan(id);
  for (let i = 0; i < 3; i++) await note();
  expect(written.map((each) => ids(each).length)).toEqual([MAX_PLANS_PER_LOOK, MAX_PLANS_PER_LOOK, 1]);
  expect(written.flatMap(ids)).toEqual(all);
  plan('order-0', 'e');
  await note();
  expect(ids(written[3] as Written)).toEqual(['order-0']);
});

test('so many are forgotten at a time', async () => {
  for (let i = 0; i < MAX_PLANS_PER_LOOK; i++) plan(`a-${i}`);
  await note();
  plan('b');
  for (let i = 0; i < MAX_PLANS_PER_LOOK; i++) plans.delete(`a-${i}`);
  // The rest of the round that began before, and then one with the new order.
  for (let i = 0; i < 3; i++) await note();
  expect(written.flatMap(({ goneIds }) => goneIds)).toHaveLength(MAX_PLANS_PER_LOOK);
  expect(written.every(({ goneIds }) => goneIds.length <= MAX_PLANS_PER_LOOK)).toBe(true);
});

test('one statement at a time: what changes meanwhile is written later', async () => {
  let end: (held: boolean) => void = () => undefined;
  write = () => new Promise((resolve) => (end = resolve));
  plan('a');
  const first = note();
  plan('b');
  expect(await note()).toBe(true);
  expect(written).toHaveLength(1);
  end(true);
  await first;
  write = async () => true;
  await note();
  await note();
  expect(written.flatMap(ids)).toEqual(['a', 'b']);
});

test('a failed write is tried again, the first one included', async () => {
  write = async () => {
    throw new StatementGivenUp('DEADLINE_UNSENT');
  };
  plan('a');
  expect(await note()).toBe(true);
  write = async () => true;
  await note();
  await note();
  expect(written.map(ids)).toEqual([['a'], ['a']]);
});

test('says where another process plans, and takes nothing for written', async () => {
  write = async () => false;
  plan('a');
  expect(await note()).toBe(false);
  write = async () => true;
  expect(await note()).toBe(true);
  expect(written.map(ids)).toEqual([['a'], ['a']]);
});

test('gives the right to plan up after a write without an answer, which may come over later ones', async () => {
  write = async () => {
    throw new StatementGivenUp('DEADLINE_SENT');
  };
  plan('a');
  expect(await note()).toBe(false);
});
