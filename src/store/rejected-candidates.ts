import type { ChosenDriver } from '../domain/rejected-candidate.ts';

/** One driver of a dispatch record, as `considered_as_json` of the tables shows him. */
export type RejectedCandidateOnWire = {
  readonly driver_id: string;
  readonly distance_meters: number | null;
  readonly reason: string;
};

/** Who was passed over for a driver, as the tables keep it (0004_dropoff.sql); null where nobody was. */
export function rejectedCandidatesText(driver: ChosenDriver | null): string | null {
  if (!driver?.rejectedCandidates?.length) return null;
  let text = '';
  for (const { driverId, distanceMeters, reason } of driver.rejectedCandidates) {
    if (text !== '') text += ',';
    text += `${driverId} ${distanceMeters === null ? '' : Math.round(distanceMeters)} ${reason}`;
  }
  return text;
}
