import { BIKE_METERS_PER_MINUTE, below, CAR_METERS_PER_MINUTE } from '../limits.ts';

/** Meters by road that a van comes in a minute. Below CAR_METERS_PER_MINUTE. */
export const VAN_METERS_PER_MINUTE = 420;

below({ BIKE_METERS_PER_MINUTE }, { VAN_METERS_PER_MINUTE });
below({ VAN_METERS_PER_MINUTE }, { CAR_METERS_PER_MINUTE });

/** What a driver may drive; the column of the table takes no other. */
export const VEHICLES = ['bike', 'car', 'van'] as const;
export type Vehicle = (typeof VEHICLES)[number];
/** The vehicle of a driver of whom none is told. */
export const DEFAULT_VEHICLE: Vehicle = 'car';

/** Meters by road that each vehicle comes in a minute. */
export const METERS_PER_MINUTE: Readonly<Record<Vehicle, number>> = {
  bike: BIKE_METERS_PER_MINUTE,
  car: CAR_METERS_PER_MINUTE,
  van: VAN_METERS_PER_MINUTE,
};

/** How large a parcel is, smallest first: for a bag, for a seat, for a hold. */
export const SIZES = ['small', 'medium', 'large'] as const;
export type Size = (typeof SIZES)[number];
/** The size of a parcel of which none is told, which every vehicle carries. */
export const DEFAULT_SIZE: Size = 'small';
/** The largest parcel of each vehicle. */
const LARGEST: Readonly<Record<Vehicle, Size>> = { bike: 'small', car: 'medium', van: 'large' };

/** Whether a vehicle carries a parcel of this size. */
export function carries(vehicle: Vehicle, size: Size): boolean {
  return SIZES.indexOf(size) <= SIZES.indexOf(LARGEST[vehicle]);
}
