import type { Point } from '../geo/point.ts';
import type { TierId } from './tier.ts';
import type { Size } from './vehicle.ts';

/** An order that waits for a driver at its pickup's point, since a time in milliseconds since 1970. */
export type WaitingOrder = {
  readonly orderId: string;
  readonly retailerId: string;
  readonly tierId: TierId;
  readonly point: Point;
  readonly sinceMs: number;
  /** Since when it counts as waiting (`matcher/fair-shares.ts`); by default since it waits. */
  readonly fairStartMs?: number | undefined;
  /** Drivers who must not get this order, such as one who released it. */
  readonly excludedDriverIds?: ReadonlySet<string> | undefined;
  /** Whether its fee was charged, or is being charged: then it never waits for a payment. */
  readonly isCharged?: boolean | undefined;
  /** When it is due, for one that waits for its time (`matcher/later-orders.ts`). */
  readonly dueMs?: number | undefined;
  /** DEFAULT_SIZE by default. */
  readonly size?: Size | undefined;
  /** Where it goes, if that is known. */
  readonly dropoff?: Point | null | undefined;
  /** When the parcel is ready, and between which times it is to be delivered, if that is known. */
  readonly readyAtMs?: number | undefined;
  readonly deliverAfterMs?: number | undefined;
  readonly deliverByMs?: number | undefined;
};
