import type { FleetDriver } from '../domain/driver.ts';
import type { RejectedCandidate, RejectionReason } from '../domain/rejected-candidate.ts';
import { distanceMeters } from '../geo/point.ts';
import { MAX_REJECTED_CANDIDATES, POSITION_FRESH_MS, REJECTED_CANDIDATE_RADII } from '../limits.ts';
import type { DriverQuery, Drivers, FoundDriver } from './drivers.ts';

/** An assignment as it was decided: what was asked for and who was chosen, after some were tried in vain. */
export type Decision = DriverQuery & { readonly chosen: FoundDriver; readonly lost?: ReadonlySet<string> | undefined };

/**
 * Who was considered and did not get the order: drivers tried in vain, drivers it excludes, and then those nearest to
 * the pickup whoever they are, at most `MAX_REJECTED_CANDIDATES` of each kind. To be asked in the moment of the decision, since
 * it reads what the drivers do now.
 */
export function rejectedCandidates(drivers: Drivers, decision: Decision): RejectedCandidate[] {
  const { point, radiusMeters, nowMs, exclude, lost, chosen } = decision;
  const named = new Set([chosen.driverId]);
  const record: RejectedCandidate[] = [];
  const name = (ids: ReadonlySet<string> | undefined, reason: RejectionReason) => {
    let left = MAX_REJECTED_CANDIDATES;
    for (const driverId of ids ?? []) {
      if (left === 0) return;
      if (named.has(driverId)) continue;
      named.add(driverId);
      const position = drivers.get(driverId)?.position;
      record.push({ driverId, distanceMeters: position ? distanceMeters(point, position) : null, reason });
      left--;
    }
  };
  name(lost, 'lost');
  name(exclude, 'excluded');
  // Those beyond the bound of the record are still none of the nearest that were merely passed over.
  if (lost || exclude) for (const ids of [lost, exclude]) for (const id of ids ?? []) named.add(id);
  const reach = radiusMeters * REJECTED_CANDIDATE_RADII;
  for (const { driverId, distanceMeters } of drivers.nearestOfAll(
    point,
    reach,
    MAX_REJECTED_CANDIDATES,
    nowMs,
    named,
  )) {
    const driver = drivers.get(driverId) as FleetDriver;
    const reason = reasonFor(driver, distanceMeters, drivers.isSetAside(driverId), decision);
    record.push({ driverId, distanceMeters, reason });
  }
  return record;
}

/** The first that holds. */
function reasonFor(
  driver: FleetDriver,
  distanceMeters: number,
  isSetAside: boolean,
  { tierId, radiusMeters, nowMs, chosen }: Decision,
): RejectionReason {
  if (!driver.onDuty) return 'off_duty';
  if (!driver.tierIds.includes(tierId)) return 'not_qualified';
  if (driver.orderId !== null) return 'busy';
  if (isSetAside) return 'lost';
  if (!driver.position || driver.position.atMs < nowMs - POSITION_FRESH_MS) return 'silent';
  if (distanceMeters > radiusMeters) return 'out_of_radius';
  return distanceMeters > chosen.distanceMeters ? 'farther' : 'available';
}
