/**
 * Why the waiting orders of a store get no driver. `store_suspended`: the operator suspended it.
 * `payment_required`: it has as many unpaid orders as a store may have.
 */
export const HOLD_REASONS = ['store_suspended', 'payment_required'] as const;
export type HoldReason = (typeof HOLD_REASONS)[number];

/** Whether a reason to wait is that of a hold. */
export const isHold = (reason: string | undefined): reason is HoldReason =>
  HOLD_REASONS.some((each) => each === reason);

/** A store whose orders are held, or may be soon. Any other store has no hold. */
export type StoreHold = {
  readonly retailerId: string;
  /** Null while its orders may still get drivers. */
  readonly reason: HoldReason | null;
  /** How many of its orders may get a driver before it is read again; at least 1 where there is no reason. */
  readonly credit: number;
};
