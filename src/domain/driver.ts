import type { CarriedOrder } from './route.ts';
import type { TierId } from './tier.ts';
import type { Vehicle } from './vehicle.ts';

/** Most active orders that one driver may carry; the table's check says the same. */
export const MAX_DRIVER_CAPACITY = 20;
/** Where a driver was at a time in milliseconds since 1970. */
export type DriverPosition = {
  readonly driverId: string;
  readonly lat: number;
  readonly lng: number;
  readonly atMs: number;
};

/** A driver as the matcher sees one. Times are milliseconds since 1970 by the database's clock. */
export type FleetDriver = {
  readonly id: string;
  readonly tierIds: readonly TierId[];
  readonly onDuty: boolean;
  readonly position: { readonly lat: number; readonly lng: number; readonly atMs: number } | null;
  /** When the driver became free, which breaks ties between equally near drivers. */
  readonly freeSinceMs: number;
  /** The active orders that the driver carries, each in a slot of its own. */
  readonly carried: readonly CarriedOrder[];
  /** How many the driver may carry at a time; 1 by default. */
  readonly capacity?: number | undefined;
  /** DEFAULT_VEHICLE by default. */
  readonly vehicle?: Vehicle | undefined;
  /** When the driver goes home, if they have said so; no trip ends later. */
  readonly onDutyUntilMs?: number | null | undefined;
};
