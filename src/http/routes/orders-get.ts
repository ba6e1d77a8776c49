import { ServiceError } from '../../domain/errors.ts';
import { isId } from '../../domain/ids.ts';
import type { Matcher } from '../../matcher/matcher.ts';
import type { StoreOrder } from '../../store/orders.ts';
import type { RetailerKey } from '../../store/retailers.ts';
import type { Store } from '../../store/store.ts';
import { json } from '../../transport/reply.ts';
import type { Route } from '../../transport/route.ts';
import type { Authenticator } from '../credentials.ts';
import { asAvailable } from '../outcomes.ts';
import { countRead, type StoreRates } from '../store-rate.ts';
import { getOrder } from './order-operations.ts';

/** `GET /orders/{id}`: a store's own order with its events; another store's order is not found. */
export function ordersGet(parts: {
  readonly stores: Pick<Authenticator<RetailerKey>, 'authenticate'>;
  readonly reads: StoreRates;
  readonly store: Pick<Store, 'findStoreOrder'>;
  readonly matcher: Pick<Matcher, 'whyWaiting'>;
}): Route<RetailerKey> {
  const { stores, reads, store, matcher } = parts;
  return {
    method: 'get',
    pattern: '/orders/:id',
    operation: getOrder,
    authenticate: stores.authenticate,
    async handle({ head, principal: key, alwaysReplyWith }) {
      await countRead(reads, key, alwaysReplyWith);
      const [id = ''] = head.params;
      const order = isId(id) ? await asAvailable(store.findStoreOrder(id, key.retailerId)) : null;
      if (!order) throw new ServiceError('not_found', 'There is no such order.');
      return json(200, { success: true, order: toWire(order, matcher.whyWaiting(order.id)) });
    },
  };
}

function toWire(order: StoreOrder, waitReason: string | undefined) {
  const { customer, dropoff } = order;
  return {
    id: order.id,
    status: order.status,
    delivery_tier: order.delivery_tier,
    delivery_fee: order.delivery_fee_cents,
    payment_status: order.payment_status,
    payment_failure_code: order.payment_failure_code,
    charge_id: order.charge_id,
    sms_status: order.sms_status,
    sms_failure_code: order.sms_failure_code,
    tracking_token: order.tracking_token,
    ...(waitReason && order.status === 'pending_dispatch' ? { waiting_because: waitReason } : {}),
    driver_id: order.driver_id,
    driver_name: order.driver_name,
    customer_id: order.customer_id,
    customer: { name: customer.name, email: customer.email, phone: customer.phone, sms_opt_in: customer.sms_opt_in },
    pickup_address: order.pickup_address,
    pickup_point: { lat: order.pickup_lat, lng: order.pickup_lng },
    pickup_point_source: order.pickup_point_source,
    dropoff_address_id: order.dropoff_address_id,
    dropoff_address: {
      line1: dropoff.line1,
      line2: dropoff.line2,
      city: dropoff.city,
      state: dropoff.state,
      zip: dropoff.zip,
    },
    dropoff_point: order.dropoff_point.lat === null ? null : order.dropoff_point,
    proof_distance_meters: order.proof_distance_meters,
    dispatch: order.events.filter(({ type }) => type === 'driver_assigned').map(dispatchOnWire),
    reason_code: order.reason_code,
    cancelled_by: order.cancelled_by,
    refund_id: order.stripe_refund_id,
    sequence: order.sequence,
    created_at: order.created_at,
    assigned_at: order.assigned_at,
    picked_up_at: order.picked_up_at,
    delivered_at: order.delivered_at,
    undeliverable_at: order.undeliverable_at,
    ended_at: order.ended_at,
    updated_at: order.updated_at,
    expires_at: order.expires_at,
    events: order.events.map(({ sequence, type, at, data }) => ({
      sequence,
      type,
      at: new Date(at).toISOString(),
      data,
    })),
  };
}

/** An assignment in brief: how far the driver was, and how many candidates were rejected for which reason. */
function dispatchOnWire({ at, data, considered }: StoreOrder['events'][number]) {
  const rejectedCandidates: Record<string, number> = {};
  for (const { reason } of considered ?? []) rejectedCandidates[reason] = (rejectedCandidates[reason] ?? 0) + 1;
  const { driver_id, distance_meters } = data as { driver_id: string; distance_meters: number };
  return { at: new Date(at).toISOString(), driver_id, distance_meters, passed_over: rejectedCandidates };
}
