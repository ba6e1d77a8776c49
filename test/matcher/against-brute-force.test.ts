import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Matcher } from '../../src/matcher/matcher.ts';
import { anywhere } from '../geo/places.ts';
import { BruteForce, type MatcherFace, TIERS } from './brute-force.ts';
import { World, type WorldShape } from './world.ts';

// The same worlds in every run; another seed finds other ones.
fc.configureGlobal({ seed: 20264 });

const seed = fc.integer();
const centres = (most: number) => fc.array(anywhere, { minLength: 1, maxLength: most });

/** Does the same to both and compares every answer, and now and then all that can be asked. */
function sameAnswers(shape: WorldShape, steps: number, filled: 'empty' | 'one_by_one' | 'at_once'): void {
  const world = new World(shape);
  const matcher = new Matcher(TIERS);
  const model = new BruteForce();
  const both = (act: (subject: MatcherFace) => unknown) => {
    expect(act(matcher)).toEqual(act(model));
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

function sameState(matcher: Matcher, model: BruteForce, world: World): void {
  expect([matcher.driverCount(), matcher.onDutyCount(), matcher.freeCount(), matcher.waitingCount()]).toEqual([
    model.driverCount(),
    model.onDutyCount(),
    model.freeCount(),
    model.waitingCount(),
  ]);
  expect([...matcher.driverIds()].sort()).toEqual([...model.driverIds()].sort());
  for (const id of model.driverIds()) {
    expect([matcher.driver(id), matcher.orderOf(id)]).toEqual([model.driver(id), model.orderOf(id)]);
  }
  expect([...matcher.waitingOrders()]).toEqual([...model.waitingOrders()]);
  for (const store of ['store-0', 'store-1', 'store-2']) {
    expect(matcher.waitingCountOf(store)).toBe(model.waitingCountOf(store));
  }
  for (let i = 0; i < 5; i++) {
    const orderId = `carried-${world.driverId()}`;
    expect(matcher.holderOf(orderId)).toBe(model.holderOf(orderId));
  }
}

describe('the matcher agrees with a brute-force model in everything it answers', () => {
  it('with drivers all over the globe, poles and antimeridian included', () => {
    fc.assert(
      fc.property(seed, centres(12), fc.constantFrom(0, 1000, 1e6, 1e7), (seed, centres, spreadMeters) => {
        sameAnswers({ seed, centres, spreadMeters, drivers: 40, orders: 30 }, 400, 'empty');
      }),
      { numRuns: 200 },
    );
  });

  it('in crowded towns, where cells divide and join as drivers come and go', () => {
    fc.assert(
      fc.property(seed, centres(3), fc.constantFrom(5, 300, 5000, 40_000), (seed, centres, spreadMeters) => {
        sameAnswers({ seed, centres, spreadMeters, drivers: 700, orders: 400 }, 1500, 'one_by_one');
      }),
      { numRuns: 12 },
    );
  });

  it('in crowded towns whose drivers were all put in at once', () => {
    fc.assert(
      fc.property(seed, centres(3), fc.constantFrom(5, 300, 5000, 40_000), (seed, centres, spreadMeters) => {
        sameAnswers({ seed, centres, spreadMeters, drivers: 700, orders: 400 }, 1500, 'at_once');
      }),
      { numRuns: 12 },
    );
  });

  it('with hundreds of drivers at exactly one place', () => {
    fc.assert(
      fc.property(seed, anywhere, (seed, centre) => {
        sameAnswers({ seed, centres: [centre], spreadMeters: 0, drivers: 400, orders: 200 }, 600, 'at_once');
      }),
      { numRuns: 8 },
    );
  });
});
