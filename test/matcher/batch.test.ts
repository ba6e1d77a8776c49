import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_BATCH } from '../../src/limits.ts';
import { type BatchPair, matchAtLeastCost } from '../../src/matcher/batch.ts';
import { randomFrom } from './world.ts';

const NEVER = Number.POSITIVE_INFINITY;

/** What a matching is worth: the claims it serves from the strongest, and the meters it costs. */
function worth(claims: readonly number[], meters: readonly (readonly number[])[], pairs: readonly BatchPair[]) {
  const served = pairs.map(({ order }) => claims[order] as number).sort((a, b) => b - a);
  const sum = pairs.reduce((total, { order, driver }) => total + (meters[order]?.[driver] as number), 0);
  return { served, sum };
}
type Worth = ReturnType<typeof worth>;

/** Whether the first is better by the rule, written out: claims from the strongest, then more served, then fewer meters. */
function beats(one: Worth, other: Worth): boolean {
  for (let i = 0; i < Math.max(one.served.length, other.served.length); i++) {
    const difference = (one.served[i] ?? Number.NEGATIVE_INFINITY) - (other.served[i] ?? Number.NEGATIVE_INFINITY);
    if (difference !== 0 && !Number.isNaN(difference)) return difference > 0;
  }
  return one.sum < other.sum;
}

/** The best of all matchings, by trying every one. */
function tryAll(claims: readonly number[], meters: readonly (readonly number[])[]): Worth {
  let best: Worth = { served: [], sum: 0 };
  const taken = new Set<number>();
  const pairs: BatchPair[] = [];
  const from = (order: number): void => {
    if (order === claims.length) {
      const found = worth(claims, meters, pairs);
      if (beats(found, best)) best = found;
      return;
    }
    from(order + 1);
    for (const [driver, distance] of (meters[order] ?? []).entries()) {
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

/** Up to five orders and drivers; few different claims, so that they are often equal, and gaps where none may go. */
const batch = fc
  .record({ orders: fc.integer({ min: 0, max: 5 }), drivers: fc.integer({ min: 0, max: 5 }) })
  .chain(({ orders, drivers }) =>
    fc.record({
      claims: fc.array(fc.oneof(fc.integer({ min: 0, max: 3 }), fc.double({ min: 0, max: 1e11, noNaN: true })), {
        minLength: orders,
        maxLength: orders,
      }),
      meters: fc.array(
        fc.array(fc.oneof(fc.integer({ min: 0, max: 40_000 }), fc.constant(NEVER)), {
          minLength: drivers,
          maxLength: drivers,
        }),
        { minLength: orders, maxLength: orders },
      ),
    }),
  );

describe('a batch at least cost', () => {
  it('is the best of all matchings', () => {
    fc.assert(
      fc.property(batch, ({ claims, meters }) => {
        const pairs = matchAtLeastCost(claims, meters);
        expect(new Set(pairs.map(({ order }) => order)).size).toBe(pairs.length);
        expect(new Set(pairs.map(({ driver }) => driver)).size).toBe(pairs.length);
        const found = worth(claims, meters, pairs);
        const best = tryAll(claims, meters);
        expect(found.served).toEqual(best.served);
        expect(found.sum).toBeCloseTo(best.sum, 3);
      }),
      { numRuns: 2_000 },
    );
  });

  it('serves the stronger claim however far, and saves meters only where the claims served are the same', () => {
    expect(matchAtLeastCost([1, 2], [[5], [40_000]])).toEqual([{ order: 1, driver: 0 }]);
    // Each order's nearest driver is the same; giving him to the second saves more in all.
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

  it('gives an order to nobody where nobody may have it', () => {
    expect(matchAtLeastCost([1, 1], [[NEVER], [NEVER]])).toEqual([]);
    expect(matchAtLeastCost([1], [[]])).toEqual([]);
    expect(matchAtLeastCost([], [])).toEqual([]);
  });

  it('holds its precision at its greatest size', () => {
    const random = randomFrom(11);
    const claims = Array.from({ length: MAX_BATCH }, () => random() * 86_400_000 * 1_000);
    const meters = claims.map(() => claims.map(() => random() * 20_000_000));
    const { served, sum } = worth(claims, meters, matchAtLeastCost(claims, meters));
    expect(served).toHaveLength(MAX_BATCH);
    // No two drivers can be exchanged with gain, which rounding away meters would allow.
    const pairs = matchAtLeastCost(claims, meters);
    for (const a of pairs) {
      for (const b of pairs) {
        const kept = (meters[a.order]?.[a.driver] as number) + (meters[b.order]?.[b.driver] as number);
        const exchanged = (meters[a.order]?.[b.driver] as number) + (meters[b.order]?.[a.driver] as number);
        expect(exchanged).toBeGreaterThan(kept - 0.01);
      }
    }
    expect(sum).toBeGreaterThan(0);
  });
});
