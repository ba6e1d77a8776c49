import type { Cents } from './money.ts';
import type { OrderTimes } from './order-times.ts';
import type { Scenario } from './scenario.ts';
import type { TierId } from './tier.ts';
import type { TimeRange } from './time-range.ts';
import type { Size } from './vehicle.ts';

/** Every status of an order. The first four are the path of a delivery; the others lead off it. */
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

/** The statuses of an order that has its driver on the road; a driver has one such order at a time. */
export const ACTIVE_STATUSES = [
  'driver_assigned',
  'picked_up',
  'undeliverable',
] as const satisfies readonly OrderStatus[];

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

/** Whether an order may change from one status to the other in one step. */
export function canBecome(from: OrderStatus, to: OrderStatus): boolean {
  return NEXT[from].includes(to);
}

/** Reasons for which an order is cancelled, released before pickup, or undeliverable. */
export const CANCEL_REASONS = ['customer_request', 'out_of_stock', 'store_error', 'duplicate', 'other'] as const;
export const RELEASE_REASONS = ['vehicle', 'emergency', 'too_far', 'pickup_not_ready', 'other'] as const;
export const UNDELIVERABLE_REASONS = ['nobody_home', 'refused', 'wrong_address', 'unsafe', 'damaged', 'other'] as const;
export type CancelReason = (typeof CANCEL_REASONS)[number];
export type ReleaseReason = (typeof RELEASE_REASONS)[number];
export type UndeliverableReason = (typeof UNDELIVERABLE_REASONS)[number];

export const PAYMENT_STATUSES = ['not_charged', 'processing', 'paid', 'failed', 'refunded'] as const;
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];

/** The sources of a pickup's point, best first. */
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
  /** Null where none of these fields says anything, as in most orders. */
  readonly extras: OrderExtras | null;
};

export type OrderItem = { readonly name: string; readonly quantity: number };

/** The optional fields of an order that the contract does not have. */
export type OrderExtras = OrderTimes & {
  /** The store's own number of the order; several orders may have the same. */
  readonly externalId: string | null;
  /** The store's own notes by key, which the service only keeps. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly items: readonly OrderItem[];
  /** What the driver reads until the pickup, and after it. */
  readonly pickupInstructions: string | null;
  readonly dropoffInstructions: string | null;
  readonly leaveAtDoor: boolean;
  readonly size: Size;
  /** The bad day that the store asks for; null outside the sandbox. */
  readonly scenario: Scenario | null;
};

/** What the driver does at the door, as the store or the customer asks. */
export type DropoffNotes = { readonly instructions: string | null; readonly leaveAtDoor: boolean };

/** An order as its store sees it right after creation (contract, part 2.1). */
export type CreatedOrder = {
  readonly id: string;
  readonly status: OrderStatus;
  readonly tierId: TierId;
  readonly feeCents: Cents;
  readonly paymentStatus: PaymentStatus;
  readonly trackingToken: string;
  readonly createdAt: Date;
  readonly externalId: string | null;
  /** Until when it is promised. */
  readonly deliverBy: Date;
  /** When it arrives, by what was known at its creation. */
  readonly estimatedDelivery: TimeRange | null;
  /** Whether it was created to wait for its time. */
  readonly isForLater: boolean;
  /** Why it waits now; absent where it does not, or that is not known. */
  readonly waitingBecause?: string | undefined;
};

/**
 * An order that was created before, as its store saw it then, its status by now, and whether a driver is meant
 * for it.
 */
export type EarlierOrder = CreatedOrder & { readonly statusNow: OrderStatus; readonly isPlanned?: boolean };
