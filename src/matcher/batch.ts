import { munkres } from 'munkres';

/** An order of a batch and a driver of it, by their places in what was handed in. */
export type BatchPair = { readonly order: number; readonly driver: number };

/**
 * Which of several orders go to which of several drivers, by minimum cost: the orders with the stronger claims first,
 * then the least distance in all.
 *
 * Claims come before distance whatever the meters: of all ways to serve orders, one is taken whose served claims,
 * sorted from the strongest, no other way beats; among those the one with the smallest sum of distances. The sets of
 * orders that can be served together form a matroid (transversal; J. Edmonds and D. R. Fulkerson, 1965), where maximizing
 * a sum of any growing positive weights maximizes that sorted list too. So a rank does for a claim, and one matrix does
 * for both aims: a meter costs 1, a served order gains its rank times more than all distances together. Solved by the
 * Hungarian algorithm (H. W. Kuhn, 1955; J. Munkres, 1957) in at most n³ steps: 64 × 64 takes about a millisecond.
 *
 * @param claims one for each order; equal ones count alike
 * @param meters for each order a row with the distance to each driver; Infinity where he is not to have it
 */
export function matchAtLeastCost(claims: readonly number[], meters: readonly (readonly number[])[]): BatchPair[] {
  const drivers = meters[0]?.length ?? 0;
  if (drivers === 0) return [];
  const ranks = rankOf(claims);
  const farthest = Math.max(0, ...meters.flat().filter(Number.isFinite));
  const gain = farthest * Math.min(claims.length, drivers) + 1;
  // What is not to be costs nothing and gains nothing, so the full matching that comes out holds the best partial one.
  const costs = meters.map((row, order) =>
    row.map((distance) => (distance === Number.POSITIVE_INFINITY ? 0 : distance - (ranks[order] as number) * gain)),
  );
  return munkres(costs)
    .filter(([order, driver]) => meters[order]?.[driver] !== Number.POSITIVE_INFINITY)
    .map(([order, driver]) => ({ order, driver }));
}

/** 1 for the weakest claim and 1 more for each stronger one. */
function rankOf(claims: readonly number[]): number[] {
  const ascending = [...new Set(claims)].sort((a, b) => a - b);
  const ranks = new Map(ascending.map((claim, index) => [claim, index + 1]));
  return claims.map((claim) => ranks.get(claim) as number);
}
