import type { Cents } from './money.ts';
import type { TierId } from './tier.ts';

/** Every status an order can have. The path is the first four; the rest lead off it. */
export const ORDER_STATUSES = [
  'pending_dispatch',
  'driver_assigned',
  'picked_up',
  'delivered',
  'cancelled',
  'expired',
  'undeliverable',
  'returned',
] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** The statuses in which an order holds its driver. The partial unique index on `orders (driver_id)` names the same. */
export const ACTIVE_STATUSES = ['driver_assigned', 'picked_up', 'undeliverable'] as const satisfies OrderStatus[];

const NEXT: Record<OrderStatus, readonly OrderStatus[]> = {
  pending_dispatch: ['driver_assigned', 'cancelled', 'expired'],
  driver_assigned: ['picked_up', 'pending_dispatch', 'cancelled'],
  picked_up: ['delivered', 'undeliverable'],
  undeliverable: ['returned'],
  delivered: [],
  cancelled: [],
  expired: [],
  returned: [],
};

/** Whether an order may go from one status to the other in one step. */
export function canBecome(from: OrderStatus, to: OrderStatus): boolean {
  return NEXT[from].includes(to);
}

export function isActive(status: OrderStatus): boolean {
  return (ACTIVE_STATUSES as readonly OrderStatus[]).includes(status);
}

export const PAYMENT_STATUSES = ['not_charged', 'processing', 'paid', 'failed', 'refunded'] as const;
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];

/** What became of the one text of an order; `none` where the customer did not consent. */
export const SMS_STATUSES = ['none', 'queued', 'sent', 'failed'] as const;
export type SmsStatus = (typeof SMS_STATUSES)[number];

/** Where the pickup's point came from, best first. */
export const PICKUP_POINT_SOURCES = ['registered', 'geocoder', 'registered_fallback', 'zip_centroid'] as const;
export type PickupPointSource = (typeof PICKUP_POINT_SOURCES)[number];

export type Customer = {
  readonly name: string;
  readonly email: string;
  readonly phone: string;
  readonly smsOptIn: boolean;
};

export type DropoffAddress = {
  readonly line1: string;
  readonly line2: string | null;
  readonly city: string;
  readonly state: string;
  readonly zip: string;
};

/** A store's request for a delivery, validated: trimmed, bounded, with defaults filled in. */
export type PlaceOrder = {
  readonly retailerId: string;
  readonly customer: Customer;
  readonly pickupAddress: string;
  readonly dropoffAddress: DropoffAddress;
  readonly tierId: TierId;
};

/** What a store is shown of its order right after creation (contract, part 2.1). */
export type CreatedOrder = {
  readonly id: string;
  readonly status: OrderStatus;
  readonly tierId: TierId;
  readonly feeCents: Cents;
  readonly paymentStatus: PaymentStatus;
  readonly trackingToken: string;
  readonly createdAt: Date;
};
