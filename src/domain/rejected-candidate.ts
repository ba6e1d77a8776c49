/**
 * Why a driver did not get an order. `excluded`: the driver gave it back before. `lost`: the driver was
 * tried, and the tables said that they are not free. `not_qualified`: by tier, vehicle or the end of their shift.
 * `farther`: the driver was free, and farther away.
 * `available`: the driver was as good a choice, and took another order, or became free, in the same moment.
 * `costlier`: the planner would have paid more with the driver.
 */
export const REJECTION_REASONS = [
  'excluded',
  'lost',
  'off_duty',
  'not_qualified',
  'busy',
  'silent',
  'out_of_radius',
  'farther',
  'available',
  'costlier',
] as const;
export type RejectionReason = (typeof REJECTION_REASONS)[number];

/** A candidate for an order that another driver got. The distance of an unknown place is null. */
export type RejectedCandidate = {
  readonly driverId: string;
  readonly distanceMeters: number | null;
  readonly reason: RejectionReason;
  /** What the order would have cost with the driver, in the planner's minutes. */
  readonly cost?: number;
};

/** The driver of an order, and the rejected candidates if recorded. */
export type ChosenDriver = {
  readonly driverId: string;
  /** To the pickup, as its store may know it (`shownMeters`). */
  readonly shownMeters: number;
  /** The slot of the driver that the order takes; 0 by default. */
  readonly slot?: number;
  readonly rejectedCandidates?: readonly RejectedCandidate[];
  /** What it costs with this driver, in the planner's minutes; missing where the nearest driver was chosen. */
  readonly cost?: number;
};
