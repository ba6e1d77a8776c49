import type { AdmissionControl } from '../../dispatch/admission.ts';
import type { PlaceOnceOutcome } from '../../dispatch/place-once.ts';
import type { PlaceRequest } from '../../dispatch/place-request.ts';
import { type FieldError, ServiceError } from '../../domain/errors.ts';
import { identityOf } from '../../domain/idempotency.ts';
import type { CreatedOrder, EarlierOrder, OrderStatus, PlaceOrder } from '../../domain/order.ts';
import type { RetailerKey } from '../../store/accounts/retailers.ts';
import type { Store } from '../../store/store.ts';
import { json } from '../../transport/reply.ts';
import type { Reply, RequestHead, Route, RouteRequest } from '../../transport/route.ts';
import { type Authenticator, unauthorized } from '../credentials.ts';
import { idempotencyKeyOf, keyReused, REPLAYED } from '../idempotency.ts';
import { JSON_BODY, parsed } from '../input.ts';
import type { JsonObject } from '../json.ts';
import { warningsOf } from '../order-warnings.ts';
import { asAvailable } from '../outcomes.ts';
import { readRetailerId, validatePlaceOrder } from '../place-order-input.ts';
import type { Replays } from '../replays.ts';
import { countRead, type StoreRates } from '../store-rate.ts';
import { createOrder } from './order-operations.ts';

/** Made once: under a flood, making the error costs a tenth of a refusal. */
export const TOO_MANY = new ServiceError('unavailable', 'Too many orders at once; this one was not created.');

/** The operation behind the route, and the admission control before it. */
export type OrderPlacing = {
  readonly placeRequest: PlaceRequest;
  readonly admission: Pick<AdmissionControl, 'isFull' | 'isFullFor' | 'enter'>;
};

/** What a route needs that creates orders. */
export type PlacingParts = {
  readonly stores: Authenticator<RetailerKey>;
  readonly rates: StoreRates;
  readonly replays: Replays;
  readonly dispatch: OrderPlacing;
  /** The address in front of tracking links. */
  readonly trackingUrl: () => string;
  readonly isSandbox: boolean;
};

/** Whether an order is refused by its head alone: its store is known at once, and may have no further one. */
export function isShed(
  head: RequestHead,
  stores: Pick<Authenticator<RetailerKey>, 'remembered'>,
  admission: OrderPlacing['admission'],
): boolean {
  const key = admission.isFull() ? stores.remembered(head) : null;
  return key !== null && admission.isFullFor(key.retailerId);
}

/** `POST /orders/create`, the contract's part 4.1. */
export function ordersCreate(
  parts: PlacingParts & { readonly reads: StoreRates; readonly store: Pick<Store, 'isKeyGood'> },
): Route<RetailerKey> {
  const { stores, rates, reads, replays, dispatch, store, trackingUrl, isSandbox } = parts;
  return {
    method: 'post',
    pattern: '/orders/create',
    operation: createOrder(isSandbox),
    shed: (head) => (isShed(head, stores, dispatch.admission) ? TOO_MANY : null),
    authenticate: stores.authenticate,
    body: JSON_BODY,
    onDeadline: 'outcome_unknown',
    async handle(request) {
      const sinceMs = performance.now();
      // Before the body is parsed, since a refusal must cost a small part of what an order costs.
      const turn = dispatch.admission.enter(request.principal.retailerId);
      if (!turn) throw TOO_MANY;
      await turn;
      return create(request, sinceMs);
    },
  };

  async function create(request: RouteRequest<RetailerKey>, sinceMs: number): Promise<Reply> {
    const { head, principal: key, signal, alwaysReplyWith } = request;
    const body = parsed(request.body);
    const retailerId = readRetailerId(body);
    if (retailerId !== undefined && retailerId !== key.retailerId) {
      throw new ServiceError('unauthorized', 'The API key does not belong to the retailer_id sent.');
    }
    const idempotencyKey = idempotencyKeyOf(head);
    const order = validatePlaceOrder(body, isSandbox);
    if ('fields' in order) {
      if (isKeyTest(body)) {
        await countRead(reads, key, alwaysReplyWith);
        if (!(await asAvailable(store.isKeyGood(key)))) throw unauthorized();
      }
      throw new ServiceError('invalid_request', messageFor(body), { fields: order.fields });
    }
    const rate = await rates.count(key);
    if (rate) alwaysReplyWith(rate.headers);
    const identity = identityOf(order.ok, idempotencyKey);
    const outcome = rate?.refusal
      ? await replayOr(rate.refusal, order.ok, key, idempotencyKey)
      : await dispatch.placeRequest(order.ok, key, identity, { sinceMs, signal });
    const { body: placed, headers } = placedBody(outcome, trackingUrl(), warningsOf(body, isSandbox));
    return json(201, placed, headers);
  }

  /** What an order over the rate gets that its key created before; any other is refused. */
  async function replayOr(
    refusal: ServiceError,
    order: PlaceOrder,
    key: RetailerKey,
    idempotencyKey: string | null,
  ): Promise<PlaceOnceOutcome> {
    if (idempotencyKey === null) throw refusal;
    const found = await replays(key, [{ order, key: idempotencyKey }]);
    const replay = found.get(idempotencyKey);
    if (!replay) throw refusal;
    return replay;
  }
}

/** A body with nothing but `retailer_id` tests a key (contract, part 5.4), so the tables are asked again. */
function isKeyTest(body: JsonObject): boolean {
  return typeof body.retailer_id === 'string' && Object.keys(body).length === 1;
}

function messageFor(body: JsonObject): string {
  return isKeyTest(body)
    ? 'The API key and retailer_id are good. No order was created: its fields are missing.'
    : 'Some fields are not usable; no order was created.';
}

const UNREACHABLE = 'No driver goes to this address; no order was created.';
const UNTIMELY = 'The order cannot be delivered as it says; it was not created.';

/**
 * What the reply to a placed order says.
 *
 * @throws {ServiceError} for an order that was not created, or of which that is not known
 */
export function placedBody(outcome: PlaceOnceOutcome, trackingUrl: string, warnings: readonly FieldError[]) {
  switch (outcome.kind) {
    case 'created':
      return placed(confirmation(outcome.order), toWire(outcome.order, trackingUrl), warnings);
    case 'replayed':
      return placed(reminder(outcome.order), toWire(outcome.order, trackingUrl), warnings, REPLAYED);
    case 'key_reused':
      throw keyReused(outcome.orderId);
    case 'unauthorized':
      throw unauthorized();
    case 'unserviceable':
      throw new ServiceError('invalid_request', outcome.isUntimely ? UNTIMELY : UNREACHABLE, outcome);
    case 'refused':
      throw new ServiceError('invalid_request', 'The order holds a value that cannot be stored; it was not created.');
    case 'queue_full':
      throw new ServiceError('queue_full', 'Too many orders wait for a driver already; this one was not created.');
    case 'key_used':
    case 'unavailable':
      throw new ServiceError('unavailable', 'The order could not be stored and was not created; please try again.');
    case 'internal':
      throw new ServiceError('internal', 'The order could not be stored and was not created; it is safe to try again.');
    case 'outcome_unknown':
      throw new ServiceError('outcome_unknown', 'Whether the order was created could not be found out in time.');
  }
}

function placed(
  message: string,
  order: ReturnType<typeof toWire>,
  warnings: readonly FieldError[],
  headers: Readonly<Record<string, string>> = {},
) {
  return { body: { success: true, message, order, ...(warnings.length > 0 ? { warnings } : {}) }, headers };
}

function confirmation(order: CreatedOrder): string {
  if (order.isForLater) return 'The order was created for later; no driver has it yet, and nothing is charged.';
  return order.status === 'driver_assigned'
    ? 'The order was created and a driver is on the way to the pickup.'
    : 'The order was created and waits for a driver; nothing is charged yet.';
}

/** What became of an order, in the words that stand behind "The order was created before". */
const SINCE: Readonly<Record<OrderStatus, string>> = {
  pending_dispatch: ' and waits for another driver.',
  driver_assigned: ' and a driver is on the way to the pickup.',
  picked_up: ' and its driver has the parcel.',
  delivered: ' and was delivered.',
  cancelled: ' and was cancelled; no driver comes.',
  expired: ' and expired, as no driver took it in time.',
  undeliverable: ' and could not be handed over; its driver brings the parcel back.',
  returned: ' and could not be handed over; it has ended.',
};

/** The first message again for as long as it is true. The order stays as it was answered first. */
function reminder(order: EarlierOrder): string {
  const isUncharged = order.status !== 'pending_dispatch' || order.paymentStatus === 'not_charged';
  if (order.statusNow === order.status && isUncharged) return confirmation(order);
  return `The order was created before${SINCE[order.statusNow]}`;
}

function toWire(order: CreatedOrder, trackingUrl: string) {
  return {
    id: order.id,
    status: order.status,
    delivery_tier: order.tierId,
    delivery_fee: order.feeCents,
    payment_status: order.paymentStatus,
    tracking_token: order.trackingToken,
    tracking_url: `${trackingUrl}/track/${order.trackingToken}`,
    external_id: order.externalId,
    created_at: order.createdAt.toISOString(),
    deliver_by: order.deliverBy.toISOString(),
    estimated_delivery: order.estimatedDelivery,
    ...(order.waitingBecause === undefined ? {} : { waiting_because: order.waitingBecause }),
  };
}
