import type { AdmissionControl } from '../../dispatch/admission.ts';
import type { Caller } from '../../dispatch/group-commit.ts';
import type { PlaceOnceOutcome } from '../../dispatch/place-once.ts';
import { ServiceError } from '../../domain/errors.ts';
import { fingerprintOf, type Identity } from '../../domain/idempotency.ts';
import type { CreatedOrder, PlaceOrder } from '../../domain/order.ts';
import { MAX_JSON_BYTES } from '../../limits.ts';
import type { RetailerKey } from '../../store/retailers.ts';
import { json } from '../../transport/reply.ts';
import type { Reply, RequestHead, RequestSignal, Route, RouteRequest } from '../../transport/route.ts';
import { unauthorized } from '../credentials.ts';
import { idempotencyKeyOf, keyReused, REPLAYED } from '../idempotency.ts';
import { type JsonObject, parseJsonObject } from '../json.ts';
import { asAvailable } from '../outcomes.ts';
import { readRetailerId, validatePlaceOrder } from '../place-order-input.ts';
import type { StoreRate } from '../store-rate.ts';

/** One for all: under a flood the making of an error costs a tenth of a refusal. */
const TOO_MANY = new ServiceError('unavailable', 'Too many orders at once; this one was not created.');

/** `POST /orders/create`, the contract's part 4.1. */
export function ordersCreate(deps: {
  readonly authenticate: (head: RequestHead) => Promise<RetailerKey>;
  readonly placeOrder: (
    request: PlaceOrder,
    key: RetailerKey,
    identity: Identity,
    caller: Caller & { readonly signal: RequestSignal },
  ) => Promise<PlaceOnceOutcome>;
  /** Counts the order against its store's rate. */
  readonly rateOf: (key: RetailerKey) => Promise<StoreRate | null>;
  /** Whether the key was good a moment ago, told at once. */
  readonly isRemembered: (head: RequestHead) => boolean;
  readonly admission: Pick<AdmissionControl, 'isFull' | 'enter'>;
  /** Whether the key still opens its active store, read from the database itself. */
  readonly isKeyGood: (key: RetailerKey) => Promise<boolean>;
}): Route<RetailerKey> {
  return {
    method: 'post',
    pattern: '/orders/create',
    shed: (head) => (deps.admission.isFull() && deps.isRemembered(head) ? TOO_MANY : null),
    authenticate: deps.authenticate,
    body: { contentTypes: ['application/json'], maxBytes: MAX_JSON_BYTES },
    onDeadline: 'outcome_unknown',
    async handle(request) {
      const sinceMs = performance.now();
      // Before the body is looked at: refusing must cost a small part of what an order costs.
      const turn = deps.admission.enter();
      if (!turn) throw TOO_MANY;
      await turn;
      return create(request, sinceMs);
    },
  };

  async function create(asked: RouteRequest<RetailerKey>, sinceMs: number): Promise<Reply> {
    const { head, principal: key, body, signal, alwaysReplyWith } = asked;
    const parsed = parseJsonObject(body);
    if ('error' in parsed) throw parsed.error;
    const retailerId = readRetailerId(parsed.ok);
    if (retailerId !== undefined && retailerId !== key.retailerId) {
      throw new ServiceError('unauthorized', 'The API key does not belong to the retailer_id sent.');
    }
    const idempotencyKey = idempotencyKeyOf(head);
    const request = validatePlaceOrder(parsed.ok);
    if ('fields' in request) {
      if (isKeyTest(parsed.ok) && !(await asAvailable(deps.isKeyGood(key)))) throw unauthorized();
      throw new ServiceError('invalid_request', messageFor(parsed.ok), { fields: request.fields });
    }
    const rate = await deps.rateOf(key);
    if (rate) alwaysReplyWith(rate.headers);
    if (rate?.refusal) throw rate.refusal;
    const identity: Identity = { key: idempotencyKey, fingerprint: fingerprintOf(request.ok) };
    return reply(await deps.placeOrder(request.ok, key, identity, { sinceMs, signal }));
  }
}

/** A body with nothing but `retailer_id` tests a key (contract, part 5.4); it is answered from the truth. */
function isKeyTest(body: JsonObject): boolean {
  return typeof body.retailer_id === 'string' && Object.keys(body).length === 1;
}

function messageFor(body: JsonObject): string {
  return isKeyTest(body)
    ? 'The API key and retailer_id are good. No order was created: its fields are missing.'
    : 'Some fields are not usable; no order was created.';
}

function reply(outcome: PlaceOnceOutcome) {
  switch (outcome.kind) {
    case 'created':
    case 'replayed': {
      const body = { success: true, message: confirmation(outcome.order), order: toWire(outcome.order) };
      return json(201, body, outcome.kind === 'replayed' ? REPLAYED : {});
    }
    case 'key_reused':
      throw keyReused(outcome.orderId);
    case 'unauthorized':
      throw unauthorized();
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

function confirmation(order: CreatedOrder): string {
  return order.status === 'driver_assigned'
    ? 'The order was created and a driver is on the way to the pickup.'
    : 'The order was created and waits for a driver; nothing is charged yet.';
}

function toWire(order: CreatedOrder) {
  return {
    id: order.id,
    status: order.status,
    delivery_tier: order.tierId,
    delivery_fee: order.feeCents,
    payment_status: order.paymentStatus,
    tracking_token: order.trackingToken,
    created_at: order.createdAt.toISOString(),
  };
}
