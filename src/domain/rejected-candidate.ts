/**
 * Why a driver who was looked at did not get an order. `excluded`: he gave it back before. `lost`: he was tried, and the
 * tables said that he is not free. `farther`: he was free, and farther away. `available`: he was as good a choice, and
 * took another order in the same moment, or came free in it.
 */
export type RejectionReason =
  | 'excluded'
  | 'lost'
  | 'off_duty'
  | 'not_qualified'
  | 'busy'
  | 'silent'
  | 'out_of_radius'
  | 'farther'
  | 'available';

/** A driver who was considered for an order that went to another; the distance is null where his place is not known. */
export type RejectedCandidate = {
  readonly driverId: string;
  readonly distanceMeters: number | null;
  readonly reason: RejectionReason;
};

/** Whom an order went to, from how far, and whom he was preferred to, as far as that was recorded. */
export type ChosenDriver = {
  readonly driverId: string;
  readonly distanceMeters: number;
  readonly rejectedCandidates?: readonly RejectedCandidate[];
};
