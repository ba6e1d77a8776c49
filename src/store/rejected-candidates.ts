import type { ChosenDriver } from '../domain/rejected-candidate.ts';

/** A rejected candidate as the SQL function `considered_as_json` returns it. */
export type RejectedCandidateOnWire = {
  readonly driver_id: string;
  readonly distance_meters: number | null;
  readonly reason: string;
};

/** The candidates rejected for a driver, in the form of the tables (0004_dropoff.sql); null for none. */
export function rejectedCandidatesText(driver: ChosenDriver | null): string | null {
  if (!driver?.rejectedCandidates?.length) return null;
  let text = '';
  for (const { driverId, distanceMeters, reason } of driver.rejectedCandidates) {
    if (text !== '') text += ',';
    text += `${driverId} ${distanceMeters === null ? '' : Math.round(distanceMeters)} ${reason}`;
  }
  return text;
}
