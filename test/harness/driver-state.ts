import { hashSecret } from '../../src/domain/ids.ts';
import type { DriverOrder, DriverState } from '../../src/store/drivers/drivers.ts';

/** The token of that driver. */
export const DRIVER_TOKEN = `sdd_${'a'.repeat(32)}`;

/** The state of a driver of one parcel by car, on duty without an end. */
export function driverState(onDuty: boolean, orders: readonly DriverOrder[] = []): DriverState {
  return {
    driverId: '01a20380-1c20-7e03-9c7e-6f2d4e0a51b7',
    name: 'Sam Rider',
    tokenHash: hashSecret(DRIVER_TOKEN),
    onDuty,
    onDutyUntil: null,
    capacity: 1,
    vehicle: 'car',
    orders,
    waitAt: null,
  };
}
