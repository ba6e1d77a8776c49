import { type Arrival, shownArrival } from '../domain/arrival.ts';
import type { KnownPosition, ShownPosition } from '../domain/shown-position.ts';
import type { TrackedOrder } from '../domain/tracked.ts';
import type { TrackingView } from './tracking-view.ts';
import { trackingView } from './view.ts';

/**
 * What a tracking page is sent. `order` is the whole view, sent after the socket opened and again with every
 * change; a page ignores one whose `sequence` is below its own. `position` updates the driver's position and
 * the estimate, for the order as of its `sequence`; the next one makes up for a lost one. `pong` answers
 * `ping`.
 */
export type TrackingMessage =
  | { readonly type: 'order'; readonly order: TrackingView }
  | {
      readonly type: 'position';
      readonly sequence: number;
      /** Null where it is not to be seen for now. */
      readonly position: ShownPosition | null;
      readonly arrival: Arrival | null;
    }
  | { readonly type: 'pong' };

/** The body of `GET /track/{token}/status`, for pages whose sockets are blocked. */
export type TrackingStatus = { readonly success: true; readonly order: TrackingView };

/** The topic of everything that is published about one order. */
export function orderTopic(orderId: string): string {
  return `order:${orderId}`;
}

export function orderMessage(order: TrackedOrder, position: KnownPosition | null, nowMs: number): string {
  return encode({ type: 'order', order: trackingView(order, position, nowMs) });
}

export function positionMessage(order: TrackedOrder, position: ShownPosition | null, nowMs: number): string {
  const arrival = shownArrival(order, position, nowMs);
  return encode({ type: 'position', sequence: order.sequence, position, arrival });
}

export const PONG = encode({ type: 'pong' });

function encode(message: TrackingMessage): string {
  return JSON.stringify(message);
}
