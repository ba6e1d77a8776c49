import { remotePrefixes } from '../domain/address.ts';
import type { FieldError } from '../domain/errors.ts';
import type { DropoffAddress } from '../domain/order.ts';
import type { Tier } from '../domain/tier.ts';
import { distanceMeters } from '../geo/point.ts';
import type { ZipArea } from '../vendors/zips.ts';
import type { LocatedPickup } from './locate-pickup.ts';
import type { Places } from './places.ts';

type Address = Pick<DropoffAddress, 'state' | 'zip'>;
const [STATE, ZIP] = ['dropoff_address.state', 'dropoff_address.zip'];

/**
 * What is wrong with a dropoff's ZIP code and state by the table of ZIP codes; empty where nothing is. A new
 * ZIP that the table does not have is good if the first three digits are of that state.
 */
export function addressErrors({ zips }: Pick<Places, 'zips'>, { state, zip }: Address): readonly FieldError[] {
  const zip5 = zip.slice(0, 5);
  const remote = remotePrefixes(state);
  const verdict = remote === undefined ? zips.inState(zip5, state) : remote.includes(zip5.slice(0, 3)) ? 'yes' : 'no';
  if (verdict === 'yes') return [];
  if (verdict === 'unknown') return [{ field: ZIP, message: 'is no ZIP code that is in use' }];
  return [
    { field: STATE, message: 'is not the state of this ZIP code' },
    { field: ZIP, message: 'is not a ZIP code of this state' },
  ];
}

/**
 * The error of a dropoff that is too far from its pickup for its tier; empty where it may be in reach. Both
 * points count with their accuracy. Addresses outside the 50 states and DC are not judged, since the table has
 * no points of them that one can rely on.
 */
export function distanceErrors(
  { zips }: Pick<Places, 'zips'>,
  { state, zip }: Address,
  pickup: LocatedPickup,
  { maxDistanceMeters }: Pick<Tier, 'maxDistanceMeters'>,
): readonly FieldError[] {
  if (remotePrefixes(state) !== undefined) return [];
  const area = zips.area(zip.slice(0, 5));
  // The place of a new ZIP is one of those that its sorting center serves.
  const areas = area ? [area] : zips.areasOfPrefix(zip.slice(0, 5));
  const mayBeInReach = (dropoff: ZipArea) =>
    distanceMeters(pickup.point, dropoff.point) - dropoff.accuracyMeters - pickup.accuracyMeters <= maxDistanceMeters;
  if (areas.length === 0 || areas.some(mayBeInReach)) return [];
  const kilometers = Math.round(maxDistanceMeters / 100) / 10;
  return [{ field: ZIP, message: `must be within ${kilometers} km of the pickup for this delivery tier` }];
}
