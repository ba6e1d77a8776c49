import type { Lease } from '../domain/plan.ts';
import type { RejectedCandidate } from '../domain/rejected-candidate.ts';
import { distanceMeters, type Point } from '../geo/point.ts';
import type { Matcher } from '../matcher/matcher.ts';

/** A choice of the planner: its right to make it, what it costs, and what it would cost with others. */
export type PlannedChoice = {
  readonly lease: Lease;
  readonly cost: number;
  readonly nextBest: readonly { readonly driverId: string; readonly cost: number }[];
};

/** The rejected candidates of the planner, and then those of the matcher; that one is farther is no reason here. */
export function costlierFirst(
  { nextBest }: PlannedChoice,
  pickup: Point,
  matcher: Pick<Matcher, 'driver'>,
  others: readonly RejectedCandidate[],
): RejectedCandidate[] {
  const ids = new Set(nextBest.map(({ driverId }) => driverId));
  const costlier = nextBest.map(({ driverId, cost }): RejectedCandidate => {
    const position = matcher.driver(driverId)?.position;
    return { driverId, cost, reason: 'costlier', distanceMeters: position ? distanceMeters(position, pickup) : null };
  });
  const isLeft = ({ driverId, reason }: RejectedCandidate) =>
    !ids.has(driverId) && reason !== 'farther' && reason !== 'available';
  return [...costlier, ...others.filter(isLeft)];
}
