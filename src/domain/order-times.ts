/** When an order is to be delivered, as its store says; null where it says nothing. */
export type OrderTimes = {
  /** When the parcel is ready for the driver; by default when the order is created. */
  readonly readyAt: Date | null;
  /** The window of the handover. */
  readonly deliverAfter: Date | null;
  readonly deliverBy: Date | null;
};

/** An order of which its store says no times. */
export const NO_TIMES: OrderTimes = { readyAt: null, deliverAfter: null, deliverBy: null };

/** What a handover waits for, in milliseconds since 1970: that the parcel is ready to leave, and its window. */
export type Waits = { readonly readyAtMs?: number | undefined; readonly deliverAfterMs?: number | undefined };
