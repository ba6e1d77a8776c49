import type { Lease } from '../domain/plan.ts';
import type { ChosenDriver, RejectedCandidate } from '../domain/rejected-candidate.ts';
import { distanceMeters, type Point } from '../geo/point.ts';
import type { FoundDriver, Matcher, WaitingOrder } from '../matcher/matcher.ts';

/** A choice of the planner: its right to make it, what it costs, and what it would cost with others. */
export type PlannedChoice = {
  readonly lease: Lease;
  readonly cost: number;
  readonly nextBest: readonly { readonly driverId: string; readonly cost: number }[];
};

/**
 * What is recorded of a driver whom a waiting order is being given to. The planner's own rejected candidates come
 * first, and the matcher's follow; that one is farther is no reason there.
 *
 * @param lost the drivers who were tried before
 */
export function chosenDriver(
  matcher: Pick<Matcher, 'driver' | 'slotOf' | 'shownMeters' | 'rejectedCandidatesFor'>,
  { orderId, point }: WaitingOrder,
  found: FoundDriver,
  at: { readonly nowMs: number; readonly lost?: ReadonlySet<string> | undefined },
  planned?: PlannedChoice,
): ChosenDriver {
  const others = matcher.rejectedCandidatesFor(orderId, found, at.nowMs, at.lost);
  return {
    driverId: found.driverId,
    shownMeters: matcher.shownMeters(found, point),
    slot: matcher.slotOf(orderId),
    rejectedCandidates: planned ? costlierFirst(planned, point, matcher, others) : others,
    ...(planned && { cost: planned.cost }),
  };
}

function costlierFirst(
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
