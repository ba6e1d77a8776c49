import type { DriverOrder, DriverState } from '../../src/store/drivers.ts';

/** The state of a driver of one parcel by car, on duty without an end. */
export function driverState(onDuty: boolean, orders: readonly DriverOrder[] = []): DriverState {
  return { onDuty, onDutyUntil: null, capacity: 1, vehicle: 'car', orders, waitAt: null };
}
