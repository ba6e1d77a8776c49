import { DEFAULT_SIZE } from '../domain/vehicle.ts';
import type { WaitingOrder } from '../domain/waiting-order.ts';
import type { DriverQuery, FoundDriver } from './driver-search.ts';
import type { ClaimedOrder } from './drivers.ts';
import type { PoolOrder } from './pools.ts';

/** What is known of an order that claims a driver. Without its promise and its door it is never taken along. */
export type NewClaim = Pick<WaitingOrder, 'orderId' | 'readyAtMs' | 'deliverAfterMs' | 'deliverByMs'> & {
  readonly retailerId?: string | undefined;
};

/** A driver with the slot that the order takes. */
export type ClaimedDriver = FoundDriver & { readonly slot: number };

/** The order as it is held in memory; what is unknown keeps it from being planned. */
export function claimedOf(order: NewClaim & Partial<Pick<WaitingOrder, 'point' | 'dropoff'>>): ClaimedOrder {
  return {
    orderId: order.orderId,
    retailerId: order.retailerId ?? '',
    pickup: order.point ?? { lat: 0, lng: 0 },
    dropoff: order.dropoff ?? null,
    readyAtMs: order.readyAtMs ?? 0,
    deliverAfterMs: order.deliverAfterMs,
    deliverByMs: order.deliverByMs ?? Number.POSITIVE_INFINITY,
  };
}

/** The order for the pool; undefined where its store, its door or its promise is unknown. */
export function poolOrderOf(order: DriverQuery & NewClaim): PoolOrder | undefined {
  const { retailerId, dropoff, deliverByMs, readyAtMs, nowMs } = order;
  if (retailerId === undefined || !dropoff || deliverByMs === undefined) return undefined;
  return {
    orderId: order.orderId,
    retailerId,
    tierId: order.tierId,
    size: order.size ?? DEFAULT_SIZE,
    pickup: order.point,
    dropoff,
    radiusMeters: order.radiusMeters,
    readyAtMs: readyAtMs ?? nowMs,
    deliverAfterMs: order.deliverAfterMs,
    deliverByMs,
    exclude: order.exclude,
  };
}
