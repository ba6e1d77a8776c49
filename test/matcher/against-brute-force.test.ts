import fc from 'fast-check';
import { describe, it } from 'vitest';
import type { FleetDriver } from '../../src/domain/driver.ts';
import type { Tiers } from '../../src/domain/tier.ts';
import { MAX_TIERS } from '../../src/limits.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { anywhere } from '../geo/places.ts';
import { runs } from '../harness/counts.ts';
import { expectSame } from '../harness/same.ts';
import { BruteForce, type MatcherFace, TIERS, tiersOf } from './brute-force.ts';
import { World, type WorldShape } from './world.ts';

const seed = fc.integer();
const centres = (most: number) => fc.array(anywhere, { minLength: 1, maxLength: most });

type Shape = Omit<WorldShape, 'tiers'> & { readonly tiers?: Tiers };

/** Does the same to both and compares every answer, and all that can be asked after every hundredth step. */
function sameAnswers(changes: Shape, steps: number, filled: 'empty' | 'one_by_one' | 'at_once'): void {
  const shape = { tiers: TIERS, ...changes };
  const world = new World(shape);
  const table = new Map([...shape.tiers].slice(0, MAX_TIERS));
  const matcher = new Matcher(table);
  const model = new BruteForce(table);
  const both = (act: (subject: MatcherFace) => unknown) => {
    expectSame(act(matcher), act(model));
  };
  const driverIds = filled === 'empty' ? [] : Array.from({ length: shape.drivers }, (_, i) => `driver-${i}`);
  if (filled === 'at_once') both(world.putDrivers(driverIds));
  else for (const id of driverIds) both(world.putDriver(id));
  for (let i = 0; filled !== 'empty' && i < shape.orders; i++) both(world.wait(`order-${i}`));
  for (let step = 0; step < steps; step++) {
    both(world.next());
    if (step % 100 === 0) sameState(matcher, model, world);
  }
  sameState(matcher, model, world);
}

/** A driver, and the order that they carry by its id. */
function shown(driver: FleetDriver | undefined) {
  if (!driver) return undefined;
  const { carried, id, tierIds, onDuty, position, freeSinceMs } = driver;
  return { id, tierIds, onDuty, position, freeSinceMs, orders: carried.map(({ orderId }) => orderId) };
}

function sameState(matcher: Matcher, model: BruteForce, world: World): void {
  const counts = (subject: MatcherFace) => {
    return [subject.driverCount(), subject.onDutyCount(), subject.freeCount(), subject.waitingCount()];
  };
  expectSame(counts(matcher), counts(model));
  expectSame([...matcher.driverIds()].sort(), [...model.driverIds()].sort());
  for (const id of model.driverIds()) {
    expectSame(shown(matcher.driver(id)), shown(model.driver(id)));
  }
  expectSame([...matcher.waitingOrders()], [...model.waitingOrders()]);
  for (const store of ['store-0', 'store-1', 'store-2']) {
    expectSame(matcher.waitingCountOf(store), model.waitingCountOf(store));
  }
  for (let i = 0; i < 5; i++) {
    const orderId = `carried-${world.driverId()}`;
    expectSame(matcher.holderOf(orderId), model.holderOf(orderId));
    const waits = world.orderId();
    expectSame(matcher.waitingOrder(waits), model.waitingOrder(waits));
    expectSame(matcher.isWaiting(waits), model.isWaiting(waits));
  }
}

describe('the matcher agrees with a brute-force model in everything it answers', () => {
  it('with drivers all over the globe, poles and antimeridian included', () => {
    fc.assert(
      fc.property(seed, centres(12), fc.constantFrom(0, 1000, 1e6, 1e7), (seed, centres, spreadMeters) => {
        sameAnswers({ seed, centres, spreadMeters, drivers: 40, orders: 30 }, 400, 'empty');
      }),
      { numRuns: runs(40, 200) },
    );
  });

  it('in crowded towns, where cells divide and merge as drivers come and go', () => {
    fc.assert(
      fc.property(seed, centres(3), fc.constantFrom(5, 300, 5000, 40_000), (seed, centres, spreadMeters) => {
        sameAnswers({ seed, centres, spreadMeters, drivers: 700, orders: 400 }, 1500, 'one_by_one');
      }),
      { numRuns: runs(3, 12) },
    );
  });

  it('in crowded towns whose drivers were all inserted at once', () => {
    fc.assert(
      fc.property(seed, centres(3), fc.constantFrom(5, 300, 5000, 40_000), (seed, centres, spreadMeters) => {
        sameAnswers({ seed, centres, spreadMeters, drivers: 700, orders: 400 }, 1500, 'at_once');
      }),
      { numRuns: runs(3, 12) },
    );
  });

  it('with more tiers than the contract names, up to as many as the table may have', () => {
    const count = fc.constantFrom(4, 5, MAX_TIERS);
    fc.assert(
      fc.property(seed, centres(2), fc.constantFrom(5, 3000), count, (seed, centres, spreadMeters, count) => {
        const shape = { seed, centres, spreadMeters, drivers: 250, orders: 150, tiers: tiersOf(count) };
        sameAnswers(shape, 1000, 'at_once');
      }),
      { numRuns: runs(3, 12) },
    );
  });

  it('while tiers come into the table and leave it', () => {
    fc.assert(
      fc.property(seed, centres(2), fc.constantFrom(5, 3000), (seed, centres, spreadMeters) => {
        const tiers = tiersOf(MAX_TIERS + 3);
        const shape = { seed, centres, spreadMeters, drivers: 250, orders: 150, tiers, tiersChange: true };
        sameAnswers(shape, 1000, 'one_by_one');
      }),
      { numRuns: runs(3, 10) },
    );
  });

  it('with hundreds of drivers at exactly one place', () => {
    fc.assert(
      fc.property(seed, anywhere, (seed, centre) => {
        sameAnswers({ seed, centres: [centre], spreadMeters: 0, drivers: 400, orders: 200 }, 600, 'at_once');
      }),
      { numRuns: runs(3, 8) },
    );
  });
});
