import { beforeEach, describe, expect, it } from 'vitest';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import { createRedispatch, MATCHED_AT_ONCE, type RedispatchParts } from '../../src/dispatch/redispatch.ts';
import { createSweep, OUTAGE_MS, REDISPATCH_SWEEP_MS, SILENT_LOOK_MS } from '../../src/dispatch/sweep.ts';
import { UnknownOutcomes } from '../../src/dispatch/unknown-outcomes.ts';
import type { ChosenDriver } from '../../src/domain/rejected-candidate.ts';
import { DRIVER_SILENT_MS } from '../../src/limits.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import type { Clock } from '../../src/postgres/clock.ts';
import type { AssignOutcome } from '../../src/store/orders/orders.ts';
import type { Store } from '../../src/store/store.ts';
import { createLogger } from '../../src/telemetry.ts';
import { displaced } from '../geo/places.ts';
import { seeded } from '../harness/world.ts';
import { TIERS } from '../matcher/brute-force.ts';
import { freeDriver } from '../matcher/carrying.ts';

const NOW = 1_700_000_000_000;
const STORE = { lat: 40.73, lng: -73.99 };
let matcher: Matcher;
let given: Map<string, ChosenDriver>;
let refuse: (orderId: string, driverId: string) => AssignOutcome['kind'] | undefined;
beforeEach(() => {
  matcher = new Matcher(TIERS);
  given = new Map();
  refuse = () => undefined;
});

const store: RedispatchParts['store'] & Pick<Store, 'findOverdue' | 'findSilent' | 'endDuties' | 'releaseFromSilent'> =
  {
    async assignWaiting(orderId, driver) {
      const refused = refuse(orderId, driver.driverId);
      if (refused === 'driver_lost' || refused === 'order_gone') return { kind: refused };
      given.set(orderId, driver);
      return { kind: 'assigned', outbox: [] };
    },
    expireOrder: async () => null,
    expireSurplus: async () => [],
    findOverdue: async () => [],
    endDuties: async () => undefined,
    findSilent: async () => [],
    releaseFromSilent: async () => null,
  };
const fleet = {
  catchUp: async () => undefined,
  refreshDrivers: async () => undefined,
  refreshOrders: async () => [],
  markStale: () => undefined,
};

const sweep = (): Promise<void> => openSweep({}, { now: () => NOW }).run();

function openSweep(differently: Partial<typeof store>, clock: Clock) {
  const events = new OrderEvents();
  const unknownOutcomes = new UnknownOutcomes(60_000, 10, clock.now, events);
  const relay = { relay: () => undefined };
  const known = { ...store, ...differently };
  const parts = { store: known, matcher, fleet, unknownOutcomes, relay, events, clock, logger: createLogger('silent') };
  return createSweep({ ...parts, redispatch: createRedispatch(parts) });
}

function put(id: string, north: number, east = 0): void {
  matcher.putDriver(freeDriver(id, displaced(STORE, north, east), NOW));
}
function wait(orderId: string, north: number, waitedMs: number, east = 0): void {
  const point = displaced(STORE, north, east);
  matcher.wait({ orderId, retailerId: 'store', tierId: 'standard', point, sinceMs: NOW - waitedMs });
}
const holders = () => Object.fromEntries([...given].map(([orderId, { driverId }]) => [orderId, driverId]));

describe('a sweep', () => {
  it('takes the orders of silent drivers, and expires those whose time is up, also behind one for which this fails', async () => {
    const done: string[] = [];
    const statement = async (orderId: string) => {
      if (orderId === 'locked') throw new Error('the row is locked');
      done.push(orderId);
      return null;
    };
    let nowMs = NOW;
    // Nobody is taken for silent before the tables were there for long.
    const isDue = () => nowMs >= NOW + DRIVER_SILENT_MS;
    const silent = ['locked', 'silent'].map((orderId) => ({ orderId, driverId: 'd', isGone: false }));
    const found = {
      findOverdue: async () => (isDue() ? ['locked', 'overdue'] : []),
      findSilent: async () => (isDue() ? silent : []),
    };
    const { run } = openSweep({ ...found, expireOrder: statement, releaseFromSilent: statement }, { now: () => nowMs });
    for (; !isDue(); nowMs += OUTAGE_MS / 2) await run();
    await expect(run()).rejects.toThrow('locked');
    expect(done.toSorted()).toEqual(['overdue', 'silent']);
  });

  it('looks for silent drivers in each SILENT_LOOK_MS once, and at once again where a look failed', async () => {
    const looks: number[] = [];
    let nowMs = NOW;
    const findSilent = async () => {
      looks.push(nowMs - NOW);
      if (looks.length === 1) throw new Error('away');
      return [];
    };
    const { run } = openSweep({ findSilent }, { now: () => nowMs });
    for (; nowMs <= NOW + 2 * SILENT_LOOK_MS + REDISPATCH_SWEEP_MS; nowMs += REDISPATCH_SWEEP_MS) {
      await run().catch(() => undefined);
    }
    expect(looks).toEqual([
      SILENT_LOOK_MS,
      SILENT_LOOK_MS + REDISPATCH_SWEEP_MS,
      2 * SILENT_LOOK_MS + REDISPATCH_SWEEP_MS,
    ]);
  });
});

describe('a sweep that finds several orders and several drivers', () => {
  it('gives each order the nearest driver who is left, the greatest claim first, where drivers are enough', async () => {
    put('near', 0);
    put('far', 2_000);
    put('farther', 3_000);
    wait('young', 100, 10_000);
    wait('old', 500, 60_000);
    await sweep();
    expect(holders()).toEqual({ old: 'near', young: 'far' });
  });

  it('serves stores in turn where no order has a claim yet', async () => {
    put('near', 0);
    for (const far of [1, 2, 3]) put(`far-${far}`, 100_000);
    const order = { tierId: 'standard', point: STORE, sinceMs: NOW };
    for (const n of [1, 2])
      matcher.wait({ ...order, orderId: `a${n}`, retailerId: 'a', fairStartMs: NOW + n * 180_000 });
    matcher.wait({ ...order, orderId: 'b1', retailerId: 'b', fairStartMs: NOW });
    await sweep();
    expect(holders()).toEqual({ b1: 'near' });
  });

  it.each([
    ['those that have waited for long', 20, ['middle', 'old']],
    ['those that are near while none has', 1, ['middle', 'new']],
  ])('serves the orders of least cost if drivers are few: %s', async (_what, minutes, served) => {
    put('a', 0);
    put('b', 100);
    wait('new', 0, 0);
    wait('old', 2_000, minutes * 60_000);
    wait('middle', 1_000, minutes * 30_000);
    await sweep();
    expect(Object.keys(holders()).sort()).toEqual(served);
  });

  it('records the rejected candidates of each order', async () => {
    put('a', 0);
    put('b', 100);
    wait('x', 0, 60_000);
    wait('y', 100, 60_000);
    await sweep();
    // At the second assignment the driver of the first one is busy already.
    const reasons = [...given.values()].map(({ rejectedCandidates }) =>
      rejectedCandidates?.map(({ reason }) => reason),
    );
    expect(reasons).toEqual([['farther'], ['busy']]);
  });

  it('gives an order whose driver was lost in a race to the next driver, and records the lost one', async () => {
    put('a', 0);
    put('b', 100);
    put('c', 200);
    wait('x', 0, 60_000);
    wait('y', 100, 60_000);
    refuse = (_orderId, driverId) => (driverId === 'a' ? 'driver_lost' : undefined);
    await sweep();
    expect(Object.values(holders()).sort()).toEqual(['b', 'c']);
    expect(given.get('x')?.rejectedCandidates).toContainEqual(
      expect.objectContaining({ driverId: 'a', reason: 'lost' }),
    );
  });

  it('gives a driver whose order is gone another order', async () => {
    put('a', 0);
    put('b', 100);
    wait('x', 0, 60_000);
    wait('y', 100, 50_000);
    wait('z', 200, 40_000);
    refuse = (orderId) => (orderId === 'x' ? 'order_gone' : undefined);
    await sweep();
    expect(Object.keys(holders()).sort()).toEqual(['y', 'z']);
    expect(matcher.isWaiting('x')).toBe(false);
  });

  it('leaves no driver free beside an order they could take, however many there are', async () => {
    for (const [drivers, orders] of [
      [300, 40],
      [40, 300],
      [300, 300],
    ] as const) {
      matcher = new Matcher(TIERS);
      given.clear();
      const random = seeded(drivers + orders);
      const offset = () => (random() - 0.5) * 20_000;
      for (let i = 0; i < drivers; i++) put(`d${i}`, offset(), offset());
      for (let i = 0; i < orders; i++) wait(`o${i}`, offset(), Math.floor(random() * 600_000), offset());
      await sweep();
      expect(new Set(Object.values(holders())).size).toBe(given.size);
      expect(given.size).toBeGreaterThan(MATCHED_AT_ONCE / 4);
      for (const driverId of matcher.availableDrivers(NOW))
        expect(matcher.bestWaitingFor(driverId, NOW)).toBeUndefined();
    }
  });
});
