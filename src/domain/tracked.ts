import type { OrderStatus } from './order.ts';

/** What a tracking page may know of an order: no phone, no e-mail, no surname, no address line. Times are ISO 8601. */
export type TrackedOrder = {
  readonly orderId: string;
  readonly trackingToken: string;
  /** Grows by one with every event of the order; a page never goes back to a smaller one. */
  readonly sequence: number;
  readonly status: OrderStatus;
  readonly storeName: string;
  readonly driverId: string | null;
  readonly driverFirstName: string | null;
  readonly pickup: { readonly lat: number; readonly lng: number };
  /** For the arrival estimate alone; a page is never told the point itself. */
  readonly dropoff: { readonly lat: number; readonly lng: number; readonly accuracyMeters: number } | null;
  readonly createdAt: string;
  readonly assignedAt: string | null;
  readonly pickedUpAt: string | null;
  readonly deliveredAt: string | null;
  /** When the order ended undelivered (cancelled, expired, undeliverable, returned). */
  readonly endedAt: string | null;
  /** Whether a driver had the order before and gave it back. */
  readonly wasReleased: boolean;
  /** Whether a photo of the handover can be fetched at `/track/{token}/photo`. */
  readonly hasPhoto: boolean;
};
