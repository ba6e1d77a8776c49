/** What stores are told of their orders: the types of the events in `GET /events`. */
export const STORE_EVENT_TYPES = [
  'order.created',
  'order.estimate_changed',
  'order.assigned',
  'order.released',
  'order.paid',
  'order.payment_failed',
  'order.picked_up',
  'order.delivered',
  'order.proof_available',
  'order.undeliverable',
  'order.returned',
  'order.cancelled',
  'order.expired',
  'order.refunded',
] as const;
export type StoreEventType = (typeof STORE_EVENT_TYPES)[number];

/** An event as a store reads it: the object that webhooks send, and its place among all events. */
export type StoreEvent = {
  /** Its number as text. */
  readonly cursor: string;
  readonly type: StoreEventType;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
};
