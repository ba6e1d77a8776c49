import type { ChosenDriver } from '../../domain/rejected-candidate.ts';

/** A rejected candidate as the SQL function `considered_as_json` returns it. */
export type RejectedCandidateOnWire = {
  readonly driver_id: string;
  readonly distance_meters: number | null;
  readonly reason: string;
  /** Of a candidate of the planner. */
  readonly cost?: number;
};

/** The candidates rejected for a driver, in the form of the tables (0030_plans.sql); null for none. */
export function rejectedCandidatesText(driver: ChosenDriver | null): string | null {
  if (!driver?.rejectedCandidates?.length) return null;
  let text = '';
  for (const { driverId, distanceMeters, reason, cost } of driver.rejectedCandidates) {
    if (text !== '') text += ',';
    text += `${driverId} ${distanceMeters === null ? '' : Math.round(distanceMeters)} ${reason}`;
    if (cost !== undefined) text += ` ${cost.toFixed(1)}`;
  }
  return text;
}
