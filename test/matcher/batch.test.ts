import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_BATCH } from '../../src/limits.ts';
import { type BatchPair, matchAtLeastCost } from '../../src/matcher/batch.ts';
import { randomFrom } from './world.ts';

const NEVER = Number.POSITIVE_INFINITY;

/** The worth of a matching: the urgencies that it serves, from the greatest, and its costs in all. */
function worth(urgencies: readonly number[], costs: readonly (readonly number[])[], pairs: readonly BatchPair[]) {
  const served = pairs.map(({ order }) => urgencies[order] as number).sort((a, b) => b - a);
  const sum = pairs.reduce((total, { order, driver }) => total + (costs[order]?.[driver] as number), 0);
  return { served, sum };
}
type Worth = ReturnType<typeof worth>;

/** The rule written out: the greater urgencies, then more orders served, then the smaller sum of costs. */
function beats(one: Worth, other: Worth): boolean {
  for (let i = 0; i < Math.max(one.served.length, other.served.length); i++) {
    const difference = (one.served[i] ?? Number.NEGATIVE_INFINITY) - (other.served[i] ?? Number.NEGATIVE_INFINITY);
    if (difference !== 0 && !Number.isNaN(difference)) return difference > 0;
  }
  return one.sum < other.sum;
}

/** The best matching, found by trying every one. */
function tryAll(urgencies: readonly number[], costs: readonly (readonly number[])[]): Worth {
  let best: Worth = { served: [], sum: 0 };
  const taken = new Set<number>();
  const pairs: BatchPair[] = [];
  const from = (order: number): void => {
    if (order === urgencies.length) {
      const found = worth(urgencies, costs, pairs);
      if (beats(found, best)) best = found;
      return;
    }
    from(order + 1);
    for (const [driver, distance] of (costs[order] ?? []).entries()) {
      if (distance === NEVER || taken.has(driver)) continue;
      taken.add(driver);
      pairs.push({ order, driver });
      from(order + 1);
      pairs.pop();
      taken.delete(driver);
    }
  };
  from(0);
  return best;
}

/** Up to five orders and drivers, with forbidden pairs and many equal urgencies. */
const batch = fc
  .record({ orders: fc.integer({ min: 0, max: 5 }), drivers: fc.integer({ min: 0, max: 5 }) })
  .chain(({ orders, drivers }) =>
    fc.record({
      urgencies: fc.array(fc.oneof(fc.integer({ min: 0, max: 3 }), fc.double({ min: 0, max: 1e11, noNaN: true })), {
        minLength: orders,
        maxLength: orders,
      }),
      costs: fc.array(
        fc.array(fc.oneof(fc.integer({ min: -300, max: 700 }), fc.constant(NEVER)), {
          minLength: drivers,
          maxLength: drivers,
        }),
        { minLength: orders, maxLength: orders },
      ),
    }),
  );

describe('a batch at minimum cost', () => {
  it('is the best of all matchings', () => {
    fc.assert(
      fc.property(batch, ({ urgencies, costs }) => {
        const pairs = matchAtLeastCost(urgencies, costs);
        expect(new Set(pairs.map(({ order }) => order)).size).toBe(pairs.length);
        expect(new Set(pairs.map(({ driver }) => driver)).size).toBe(pairs.length);
        const found = worth(urgencies, costs, pairs);
        const best = tryAll(urgencies, costs);
        expect(found.served).toEqual(best.served);
        expect(found.sum).toBeCloseTo(best.sum, 3);
      }),
      { numRuns: 2_000 },
    );
  });

  it('serves the more urgent order whatever it costs, and saves costs only among equally urgent ones', () => {
    expect(matchAtLeastCost([1, 2], [[5], [40_000]])).toEqual([{ order: 1, driver: 0 }]);
    // Both orders have the same cheapest driver, who saves more in all as the second's.
    const pairs = matchAtLeastCost(
      [9, 1],
      [
        [100, 200],
        [100, 900],
      ],
    );
    expect(
      worth(
        [9, 1],
        [
          [100, 200],
          [100, 900],
        ],
        pairs,
      ).sum,
    ).toBe(300);
  });

  it('serves as many as can be served, though fewer would cost less', () => {
    const costs = [
      [-100, 900],
      [-90, NEVER],
    ];
    expect(worth([0, 0], costs, matchAtLeastCost([0, 0], costs))).toEqual({ served: [0, 0], sum: 810 });
  });

  it('leaves an order that no driver may have', () => {
    expect(matchAtLeastCost([1, 1], [[NEVER], [NEVER]])).toEqual([]);
    expect(matchAtLeastCost([1], [[]])).toEqual([]);
    expect(matchAtLeastCost([], [])).toEqual([]);
  });

  it('keeps its precision at its greatest size', () => {
    const random = randomFrom(11);
    const urgencies = Array.from({ length: MAX_BATCH }, () => random() * 86_400_000 * 1_000);
    const costs = urgencies.map(() => urgencies.map(() => random() * 20_000_000));
    const { served, sum } = worth(urgencies, costs, matchAtLeastCost(urgencies, costs));
    expect(served).toHaveLength(MAX_BATCH);
    // No exchange of two drivers gains anything; if cost were lost to rounding, some would.
    const pairs = matchAtLeastCost(urgencies, costs);
    for (const a of pairs) {
      for (const b of pairs) {
        const kept = (costs[a.order]?.[a.driver] as number) + (costs[b.order]?.[b.driver] as number);
        const exchanged = (costs[a.order]?.[b.driver] as number) + (costs[b.order]?.[a.driver] as number);
        expect(exchanged).toBeGreaterThan(kept - 0.01);
      }
    }
    expect(sum).toBeGreaterThan(0);
  });
});
