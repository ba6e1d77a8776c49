import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { PlannedChoice } from '../../src/dispatch/planned-choice.ts';
import { type PlannerLoop, startPlannerLoop } from '../../src/dispatch/planner-loop.ts';
import { MODEL_TIMES } from '../../src/dispatch/road-times.ts';
import type { FleetDriver } from '../../src/domain/driver.ts';
import type { PlannedOrder } from '../../src/domain/plan.ts';
import type { Tier } from '../../src/domain/tier.ts';
import { LEAST_PLANNED_ORDERS, PLANNER_LEASE_MS, PLANNER_LOOK_MS, PLANNER_PASS_MS } from '../../src/limits.ts';
import { type FoundDriver, Matcher, type WaitingOrder } from '../../src/matcher/matcher.ts';
import { createLogger } from '../../src/telemetry.ts';
import { TIERS } from '../matcher/brute-force.ts';

const NOW = Date.parse('2030-01-31T17:00:00Z');
const MINUTE = 60_000;
const STORE = { lat: 40.73, lng: -73.99 };
const DOOR = { lat: 40.74, lng: -73.99 };

const tiersOf = (dispatchMode: Tier['dispatchMode']) =>
  new Map(Array.from(TIERS, ([id, tier]) => [id, { ...tier, dispatchMode }]));
const order = (orderId: string, changes: Partial<WaitingOrder> = {}): WaitingOrder => ({
  orderId,
  retailerId: 'store',
  tierId: 'standard',
  point: STORE,
  sinceMs: Date.now(),
  dropoff: DOOR,
  readyAtMs: Date.now(),
  deliverByMs: Date.now() + 180 * MINUTE,
  ...changes,
});
const driver = (id: string, changes: Partial<FleetDriver> = {}): FleetDriver => ({
  id,
  tierIds: ['standard', 'priority'],
  onDuty: true,
  position: { ...STORE, atMs: Date.now() + 1_000 * MINUTE },
  freeSinceMs: NOW,
  carried: [],
  ...changes,
});

let matcher: Matcher;
let loop: PlannerLoop;
/** What the planner gave, as "order to driver", with when. */
let given: { readonly what: string; readonly atMs: number; readonly choice: PlannedChoice }[];
let assign: (orderId: string, driverId: string) => void;
let noted: PlannedOrder[];
/** The epoch that the row of the lease has for this process; null while another one has it. */
let epoch: number | null;

beforeEach(async () => {
  vi.useFakeTimers({ now: NOW, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  matcher = new Matcher(tiersOf('planned'), true);
  [given, noted, epoch] = [[], [], 1];
  assign = (orderId, driverId) => {
    end(orderId, driverId, 'assigned');
  };
  const assignPlanned = (orderId: string, { driverId }: FoundDriver, choice: PlannedChoice, lost: () => void) => {
    given.push({ what: `${orderId} to ${driverId}`, atMs: Date.now(), choice });
    if (choice.lease.epoch === epoch) assign(orderId, driverId);
    else lost();
  };
  loop = startPlannerLoop({
    store: {
      takeLease: async (region) => (epoch === null ? null : { region, epoch }),
      leaveLease: async () => undefined,
      writePlans: async (lease, plans) => {
        if (lease.epoch === epoch) noted.push(...plans);
        return lease.epoch === epoch;
      },
    },
    matcher,
    redispatch: { assignPlanned },
    roadTimes: MODEL_TIMES,
    askIdle: () => undefined,
    clock: { now: () => Date.now() },
    logger: createLogger('silent'),
  });
  await pass(0);
});
afterEach(async () => {
  await loop.close();
  vi.useRealTimers();
});
/** Assigns as the tables do, whose answer comes later. */
function end(orderId: string, driverId: string, outcome: 'assigned' | 'driver_lost'): void {
  if (matcher.beginAssign(orderId, driverId)) setTimeout(() => matcher.endAssign(orderId, outcome, Date.now()), 1);
}
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const gave = () => given.map(({ what }) => what);

describe('the planner in the service', () => {
  it('gives what waits to a driver who comes on duty, at once', async () => {
    matcher.wait(order('o'));
    await pass(5 * MINUTE);
    expect(gave()).toEqual([]);
    matcher.putDriver(driver('d'));
    await pass(PLANNER_LOOK_MS);
    expect(gave()).toEqual(['o to d']);
    expect(matcher.holderOf('o')).toBe('d');
  });

  it('has a driver at the store when the parcel is ready, and not before', async () => {
    const away = { lat: STORE.lat + 0.03, lng: STORE.lng };
    matcher.putDriver(driver('d', { position: { ...away, atMs: NOW + 1_000 * MINUTE } }));
    matcher.wait(order('o', { readyAtMs: NOW + 60 * MINUTE, dueMs: NOW + 50 * MINUTE }));
    await pass(40 * MINUTE);
    expect(gave()).toEqual([]);
    await pass(20 * MINUTE);
    expect(gave()).toEqual(['o to d']);
    // 3.3 km of great circle are about 9 minutes by car, and 3 more are taken at the store.
    const minutesBefore = (NOW + 60 * MINUTE - (given[0]?.atMs ?? 0)) / MINUTE;
    expect(minutesBefore).toBeGreaterThan(9);
    expect(minutesBefore).toBeLessThan(16);
  });

  it('gives the next order to the driver who is there soonest, the busy one included', async () => {
    matcher.putDriver(driver('busy', { capacity: 1 }));
    matcher.wait(order('first'));
    await pass(PLANNER_LOOK_MS);
    expect(gave()).toEqual(['first to busy']);
    matcher.wait(order('next'));
    await pass(MINUTE);
    expect(gave()).toEqual(['first to busy']);
    expect(noted.at(-1)).toMatchObject({ orderId: 'next', driverId: 'busy' });
    matcher.release('busy', Date.now(), 'first');
    await pass(PLANNER_LOOK_MS);
    expect(gave()).toEqual(['first to busy', 'next to busy']);
  });

  it('gives what is meant for a busy driver to one who comes on duty and is there sooner', async () => {
    matcher.putDriver(driver('busy', { capacity: 1 }));
    matcher.wait(order('first'));
    await pass(PLANNER_LOOK_MS);
    matcher.wait(order('next'));
    await pass(2 * PLANNER_LOOK_MS);
    expect(gave()).toEqual(['first to busy']);
    matcher.putDriver(driver('fresh'));
    await pass(2 * PLANNER_LOOK_MS);
    expect(gave()).toEqual(['first to busy', 'next to fresh']);
  });

  it('says what an order costs beside the next best drivers', async () => {
    matcher.wait(order('o'));
    matcher.putDriver(driver('near'));
    const far = { lat: STORE.lat + 0.02, lng: STORE.lng, atMs: NOW + 1_000 * MINUTE };
    matcher.putDriver(driver('far', { position: far }));
    await pass(PLANNER_LOOK_MS);
    expect(gave()).toEqual(['o to near']);
    const choice = given[0]?.choice;
    expect(choice?.nextBest).toEqual([{ driverId: 'far', cost: expect.any(Number) }]);
    expect(choice?.nextBest[0]?.cost).toBeGreaterThan(choice?.cost ?? Number.POSITIVE_INFINITY);
  });

  it('plans anew what could not be assigned, with whoever else there is', async () => {
    const refused = new Set(['near']);
    assign = (orderId, driverId) => {
      end(orderId, driverId, refused.has(driverId) ? 'driver_lost' : 'assigned');
    };
    matcher.wait(order('o'));
    matcher.putDriver(driver('near'));
    matcher.putDriver(driver('far', { position: { lat: STORE.lat + 0.02, lng: STORE.lng, atMs: NOW + MINUTE } }));
    await pass(PLANNER_LOOK_MS);
    expect(gave()).toEqual(['o to near', 'o to far']);
    expect(matcher.holderOf('o')).toBe('far');
  });

  it('forgets what was cancelled, and what is no more its to give', async () => {
    matcher.wait(order('cancelled'));
    matcher.wait(order('held', { retailerId: 'other' }));
    await pass(PLANNER_LOOK_MS);
    matcher.unwait('cancelled');
    matcher.setHold({ retailerId: 'other', reason: 'store_suspended', credit: 0 });
    matcher.putDriver(driver('d'));
    await pass(PLANNER_PASS_MS);
    expect(gave()).toEqual([]);
    matcher.endHold('other');
    await pass(PLANNER_LOOK_MS);
    expect(gave()).toEqual(['held to d']);
  });

  it('follows the mode of a tier, and gives nothing of one that is not planned', async () => {
    matcher.wait(order('o'));
    await pass(PLANNER_LOOK_MS);
    matcher.setTiers(tiersOf('nearest'));
    matcher.putDriver(driver('d'));
    await pass(PLANNER_PASS_MS);
    expect(gave()).toEqual([]);
    expect(matcher.bestWaitingFor('d', Date.now())?.orderId).toBe('o');
    matcher.setTiers(tiersOf('planned'));
    await pass(PLANNER_LOOK_MS);
    expect(gave()).toEqual(['o to d']);
  });

  it('leaves more orders than it has room for to whoever is free, and takes them back as there is room', async () => {
    const all = Array.from({ length: LEAST_PLANNED_ORDERS + 2 }, (_, n) => `o${n}`);
    for (const id of all) matcher.wait(order(id));
    await pass(PLANNER_LOOK_MS);
    const left = all.filter((id) => matcher.planned.open(id) === undefined);
    expect(left).toEqual([`o${LEAST_PLANNED_ORDERS}`, `o${LEAST_PLANNED_ORDERS + 1}`]);
    for (const id of all.slice(0, 10)) matcher.unwait(id);
    await pass(2 * PLANNER_PASS_MS);
    expect(left.map((id) => matcher.planned.open(id)?.orderId)).toEqual(left);
  });

  it('plans the order of another store in place of the last one of a store that floods it', async () => {
    const flood = Array.from({ length: LEAST_PLANNED_ORDERS }, (_, n) => `o${n}`);
    for (const [n, id] of flood.entries()) matcher.wait(order(id, { fairStartMs: NOW + n * MINUTE }));
    await pass(PLANNER_LOOK_MS);
    matcher.wait(order('theirs', { retailerId: 'other' }));
    await pass(PLANNER_LOOK_MS);
    expect(matcher.planned.open('theirs')).toBeDefined();
    const left = flood.filter((id) => matcher.planned.open(id) === undefined);
    expect(left).toEqual([`o${LEAST_PLANNED_ORDERS - 1}`]);
  });

  it('tells nothing while another process has the right to plan', async () => {
    epoch = null;
    await pass(PLANNER_LEASE_MS);
    matcher.wait(order('o'));
    matcher.putDriver(driver('d'));
    await pass(MINUTE);
    expect([gave(), loop.nextLook('d')]).toEqual([[], null]);
    epoch = 3;
    await pass(PLANNER_LEASE_MS);
    expect(gave()).toEqual(['o to d']);
    expect(given[0]?.choice.lease.epoch).toBe(3);
  });

  it('stops at the first command that is refused, and plans anew with the next right', async () => {
    assign = () => undefined;
    matcher.wait(order('o'));
    await pass(PLANNER_LOOK_MS);
    epoch = 2;
    matcher.putDriver(driver('d'));
    await pass(50);
    expect(given.map(({ choice }) => choice.lease.epoch)).toEqual([1]);
    await pass(PLANNER_LEASE_MS);
    expect(given.at(-1)?.choice.lease.epoch).toBe(2);
  });
});
