import type { Point } from '../geo/point.ts';
import type { OrderStatus, UndeliverableReason } from './order.ts';
import type { Waits } from './order-times.ts';
import type { TimeRange } from './time-range.ts';

/** Where a door is on its driver's route, and what its parcel waits for: what is fetched with it, and the window. */
export type PlaceOnRoute = Waits & {
  /** Doors to which the driver goes first. */
  readonly stopsBefore: number;
  /** Whether the driver makes no stop before it but that where its parcel is fetched. */
  readonly isNext: boolean;
  /** Minutes until the driver is there, by the model of travel; null where they are silent. */
  readonly doorInMinutes: number | null;
  /** Where it is, as far as is known. */
  readonly door: Point | null;
  /** The known doors of the other parcels that the driver has on board. */
  readonly otherDoors: readonly (Point & { readonly accuracyMeters: number })[];
};

/** An order as a tracking page may see it: no phone, e-mail, surname or address line. Times are ISO 8601. */
export type TrackedOrder = {
  readonly orderId: string;
  readonly trackingToken: string;
  /** The number of the order's last event; a page never goes back to a smaller one. */
  readonly sequence: number;
  readonly status: OrderStatus;
  readonly storeName: string;
  readonly driverId: string | null;
  readonly driverFirstName: string | null;
  /** Where its door is on the driver's route; null where no driver is under way with it. */
  readonly onRoute: PlaceOnRoute | null;
  /** When it arrives while it waits: by its plan, or in its window before its time; else null. */
  readonly planned: TimeRange | null;
  /** Until when it is promised. */
  readonly deliverBy: string;
  readonly pickup: { readonly lat: number; readonly lng: number };
  /** For the arrival estimate; a page sees the point itself only once the driver has no stop before it. */
  readonly dropoff: { readonly lat: number; readonly lng: number; readonly accuracyMeters: number } | null;
  readonly createdAt: string;
  readonly assignedAt: string | null;
  readonly pickedUpAt: string | null;
  readonly deliveredAt: string | null;
  /** When the order ended without a delivery (cancelled, expired, undeliverable, returned). */
  readonly endedAt: string | null;
  /** Whether an earlier driver lost or released the order. */
  readonly wasReleased: boolean;
  /** Why the handover failed, if it did. */
  readonly reason: UndeliverableReason | null;
  /** What the store or the customer asks for at the door. */
  readonly dropoffInstructions: string | null;
  readonly leaveAtDoor: boolean;
  /** Whether a photo of the handover is at `/track/{token}/photo`. */
  readonly hasPhoto: boolean;
};
