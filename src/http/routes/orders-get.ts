import { arrivalTimes, shownArrival } from '../../domain/arrival.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { ScheduledOrder } from '../../domain/schedule.ts';
import { shownPosition } from '../../domain/shown-position.ts';
import type { TimeRange } from '../../domain/time-range.ts';
import { type Matcher, positionOf } from '../../matcher/matcher.ts';
import { placeOnRoute } from '../../store/orders/order-on-route.ts';
import type { StoreOrder } from '../../store/orders/orders.ts';
import type { Store } from '../../store/store.ts';
import { json } from '../../transport/reply.ts';
import type { Route } from '../../transport/route.ts';
import type { Authenticator } from '../credentials.ts';
import { orderIdOf } from '../input.ts';
import { timesOnWire, waitOnWire } from '../order-times.ts';
import { asAvailable } from '../outcomes.ts';
import type { StoreReader } from '../readers.ts';
import { countRead, type StoreRates } from '../store-rate.ts';
import { getOrder } from './order-operations.ts';

/**
 * `GET /orders/{id}`: an order of the store, or of the organization's stores, with its events; another store's
 * order is not found.
 *
 * @param parts.now the database's clock in milliseconds
 */
export function ordersGet(parts: {
  readonly stores: Pick<Authenticator<StoreReader>, 'authenticate'>;
  readonly reads: StoreRates;
  readonly store: Pick<Store, 'findStoreOrder'>;
  readonly matcher: Pick<Matcher, 'whyWaiting' | 'driver'>;
  /** The address in front of tracking links. */
  readonly trackingUrl: () => string;
  readonly now: () => number;
}): Route<StoreReader> {
  const { stores, reads, store, matcher, trackingUrl, now } = parts;
  return {
    method: 'get',
    pattern: '/orders/:id',
    operation: getOrder,
    authenticate: stores.authenticate,
    async handle({ head, principal: reader, alwaysReplyWith }) {
      await countRead(reads, reader, alwaysReplyWith);
      const order = await asAvailable(store.findStoreOrder(orderIdOf(head), reader.retailerIds));
      if (!order) throw new ServiceError('not_found', 'There is no such order.');
      const { retailer_id, tracking_token } = order;
      const link = { tracking_token, tracking_url: `${trackingUrl()}/track/${tracking_token}` };
      // A chain's key only reads, and whoever has a tracking link can change the notes for the door.
      const own = reader.kind === 'organization' ? { retailer_id } : link;
      const { because, plan } = waitOnWire(order, matcher);
      return json(200, { success: true, order: { ...own, ...toWire(order, because, onTheWay({ ...order, plan })) } });
    },
  };

  /** Where the driver is and when they come, as the customer's page shows it at this moment, and no more. */
  function onTheWay(order: StoreOrder): OnTheWay {
    const nowMs = now();
    const onRoute = placeOnRoute(order.id, order.on_route);
    const schedule = scheduleOf(order);
    const { status, driver_id: driverId, assigned_at: assignedAt, plan } = order;
    const placed = { status, onRoute, deliverBy: schedule.deliverBy, assignedAt };
    const shown = shownPosition(placed, positionOf(matcher, driverId), nowMs);
    const { lat, lng, accuracy_meters: accuracyMeters } = order.dropoff_point;
    const dropoff = lat === null || lng === null || accuracyMeters === null ? null : { lat, lng, accuracyMeters };
    const pickup = { lat: order.pickup_lat, lng: order.pickup_lng };
    const arrival = shownArrival({ status, onRoute, pickup, dropoff }, shown, nowMs);
    const position = shown && { lat: shown.lat, lng: shown.lng, precision: shown.precision, at: shown.at };
    const times = timesOnWire({ ...schedule, ...placed, driverId, pickup, dropoff, plan }, matcher, nowMs);
    return { position, arrival: arrivalTimes(arrival, nowMs), times };
  }
}

type OnTheWay = {
  readonly position: object | null;
  readonly arrival: TimeRange | null;
  readonly times: ReturnType<typeof timesOnWire>;
};

function scheduleOf(order: StoreOrder): ScheduledOrder {
  const { ready_at: readyAt, deliver_after: deliverAfter, promised_by: deliverBy, dispatch_from: dispatchFrom } = order;
  return { readyAt, deliverAfter, deliverBy, dispatchFrom };
}

function toWire(order: StoreOrder, waitReason: string | undefined, { position, arrival, times }: OnTheWay) {
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
    texts: textsOnWire(order),
    external_id: order.external_id,
    metadata: order.metadata ?? {},
    items: order.items ?? [],
    pickup_instructions: order.pickup_instructions,
    dropoff_instructions: order.dropoff_instructions,
    leave_at_door: order.leave_at_door,
    size: order.size,
    ready_at: order.ready_at,
    deliver_after: order.deliver_after,
    ...times,
    dispatch_from: order.dispatch_from,
    ...(waitReason ? { waiting_because: waitReason } : {}),
    driver_id: order.driver_id,
    driver_name: order.driver_name,
    driver: driverOnWire(order),
    driver_position: position,
    arrival,
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

function driverOnWire({ driver_id: id, driver_first_name, driver_vehicle: vehicle }: StoreOrder): object | null {
  return id === null ? null : { id, first_name: driver_first_name || null, vehicle };
}

/** The tracking text, if there is one, and the optional ones. */
function textsOnWire(order: StoreOrder) {
  const { sms_status: status, sms_failure_code: failure_code } = order;
  const told = order.events.findLast(({ type, data }) => type.startsWith('sms_') && kindOf(data) === 'tracking');
  const tracking = { kind: 'tracking', status, failure_code, at: told?.at ?? (order.created_at as Date) };
  return [...(status === 'none' ? [] : [tracking]), ...order.texts].map((text) => ({
    ...text,
    at: new Date(text.at).toISOString(),
  }));
}

/** The version before had one text and did not name it. */
const kindOf = (data: unknown): string => (data as { kind?: string } | null)?.kind ?? 'tracking';

/** An assignment in brief: how far the driver was, and how many candidates were rejected for which reason. */
function dispatchOnWire({ at, data, considered }: StoreOrder['events'][number]) {
  const rejectedCandidates: Record<string, number> = {};
  for (const { reason } of considered ?? []) rejectedCandidates[reason] = (rejectedCandidates[reason] ?? 0) + 1;
  const { driver_id, distance_meters } = data as { driver_id: string; distance_meters: number };
  return { at: new Date(at).toISOString(), driver_id, distance_meters, passed_over: rejectedCandidates };
}
