import type { TimeRange } from './time-range.ts';

/** Who gives the waiting orders of a tier to drivers: the planner, or at once whoever is nearest when one is free. */
export const DISPATCH_MODES = ['planned', 'nearest'] as const;
export type DispatchMode = (typeof DISPATCH_MODES)[number];

/** The one region that is planned today. */
export const REGION = 'all';

/** The right to plan a region. Every command of a planner checks that no other process has had it since. */
export type Lease = {
  readonly region: string;
  /** Grows with each new holder. */
  readonly epoch: number;
};

/** What is planned for a waiting order. Times are milliseconds since 1970. */
export type PlannedOrder = {
  readonly orderId: string;
  readonly driverId: string;
  /** When the driver has the parcel, and when they are at the door. */
  readonly pickupMs: number;
  readonly doorMs: number;
};

/** What readers are told of the plan of a waiting order. */
export type ShownPlan = {
  /** When it arrives by the plan; null where its door is not known. */
  readonly range: TimeRange | null;
};
