import type { FleetDriver } from '../domain/driver.ts';
import type { RejectedCandidate, RejectionReason } from '../domain/rejected-candidate.ts';
import { DEFAULT_VEHICLE } from '../domain/vehicle.ts';
import { distanceMeters } from '../geo/point.ts';
import { POSITION_FRESH_MS } from '../limits.ts';
import type { DriverQuery, DriverSearch, FoundDriver } from './driver-search.ts';
import type { Drivers } from './drivers.ts';
import { canDoFrom } from './trip.ts';

/** Most rejected candidates of each kind recorded with an assignment, 50 bytes each. */
export const MAX_REJECTED_CANDIDATES = 5;
/** Radii of the order within which a driver counts as a candidate at all. */
const REJECTED_CANDIDATE_RADII = 2;

/** An assignment: the search for a driver, the driver chosen, and those tried in vain before. */
export type Decision = DriverQuery & { readonly chosen: FoundDriver; readonly lost?: ReadonlySet<string> | undefined };

/**
 * The rejected candidates of a decision: the drivers tried in vain, the drivers whom the order excludes, and
 * the drivers nearest to the pickup, whatever they do; at most `MAX_REJECTED_CANDIDATES` of each kind. The
 * answer describes what the drivers do now, so the caller asks in the moment of the decision.
 */
export function rejectedCandidates(drivers: Drivers, search: DriverSearch, decision: Decision): RejectedCandidate[] {
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
  // Those beyond the bound of their kind do not count as nearest drivers either.
  if (lost || exclude) for (const ids of [lost, exclude]) for (const id of ids ?? []) named.add(id);
  const reach = radiusMeters * REJECTED_CANDIDATE_RADII;
  for (const { driverId, distanceMeters } of search.nearestOfAll(point, reach, MAX_REJECTED_CANDIDATES, nowMs, named)) {
    const driver = drivers.get(driverId) as FleetDriver;
    const reason = reasonFor(driver, distanceMeters, drivers.isSetAside(driverId), decision);
    record.push({ driverId, distanceMeters, reason });
  }
  return record;
}

/** The first reason that holds. */
function reasonFor(
  driver: FleetDriver,
  distanceMeters: number,
  isSetAside: boolean,
  decision: Decision,
): RejectionReason {
  const { tierId, radiusMeters, nowMs, chosen } = decision;
  if (!driver.onDuty) return 'off_duty';
  if (!driver.tierIds.includes(tierId)) return 'not_qualified';
  if (driver.carried.length > 0) return 'busy';
  if (isSetAside) return 'lost';
  if (!driver.position || driver.position.atMs < nowMs - POSITION_FRESH_MS) return 'silent';
  if (distanceMeters > radiusMeters) return 'out_of_radius';
  const carrier = {
    ...driver.position,
    vehicle: driver.vehicle ?? DEFAULT_VEHICLE,
    untilMs: driver.onDutyUntilMs ?? Number.POSITIVE_INFINITY,
  };
  if (!canDoFrom(carrier, { ...decision, pickup: decision.point }, nowMs)) return 'not_qualified';
  return distanceMeters > chosen.distanceMeters ? 'farther' : 'available';
}
