import type { TierId } from './tier.ts';

/** A driver as the matcher sees one. Times are milliseconds since 1970 by the database's clock. */
export type FleetDriver = {
  readonly id: string;
  readonly tierIds: readonly TierId[];
  readonly onDuty: boolean;
  readonly position: { readonly lat: number; readonly lng: number; readonly atMs: number } | null;
  /** When the driver became free, which breaks ties between equally near drivers. */
  readonly freeSinceMs: number;
  /** The active order that the driver carries, if any. */
  readonly orderId: string | null;
};
