import type { Quote, QuoteOrder } from '../../dispatch/quote-order.ts';
import { arrivalTimes } from '../../domain/arrival.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { RetailerKey } from '../../store/accounts/retailers.ts';
import { json } from '../../transport/reply.ts';
import type { Route } from '../../transport/route.ts';
import type { Authenticator } from '../credentials.ts';
import { JSON_BODY, parsed } from '../input.ts';
import type { JsonObject } from '../json.ts';
import { warningsOf } from '../order-warnings.ts';
import { readRetailerId, validatePlaceOrder } from '../place-order-input.ts';
import { countRead, type StoreRates } from '../store-rate.ts';
import { valid } from '../validate.ts';
import { getQuote } from './store-operations.ts';

/** Stands for the customer of whom a quote need not know. */
const ANYBODY = { name: 'Anybody', email: 'anybody@example.com', phone: '+14155550100' };

/** `POST /quotes`: what an order would cost and when it would come, without creating it. */
export function quotesRoute(parts: {
  readonly stores: Pick<Authenticator<RetailerKey>, 'authenticate'>;
  readonly reads: StoreRates;
  readonly dispatch: { readonly quoteOrder: QuoteOrder };
  readonly isSandbox: boolean;
}): Route<RetailerKey> {
  const { stores, reads, dispatch, isSandbox } = parts;
  return {
    method: 'post',
    pattern: '/quotes',
    operation: getQuote(isSandbox),
    authenticate: stores.authenticate,
    body: JSON_BODY,
    async handle({ principal: key, body: sent, alwaysReplyWith }) {
      const body = parsed(sent);
      const retailerId = readRetailerId(body);
      if (retailerId !== undefined && retailerId !== key.retailerId) {
        throw new ServiceError('unauthorized', 'The API key does not belong to the retailer_id sent.');
      }
      const order = valid(validatePlaceOrder(withCustomer(body), isSandbox));
      await countRead(reads, key, alwaysReplyWith);
      const quote = toWire(await dispatch.quoteOrder(order, key));
      const warnings = warningsOf(body, isSandbox);
      return json(200, { success: true, quote, ...(warnings.length > 0 ? { warnings } : {}) });
    },
  };
}

function withCustomer(body: JsonObject): JsonObject {
  return body.customer === undefined ? { ...body, customer: ANYBODY } : body;
}

function toWire(quote: Quote): object {
  if (quote.kind === 'unserviceable') return { serviceable: false, fields: quote.fields };
  const { tier, waitingBecause, nowMs } = quote;
  return {
    serviceable: true,
    delivery_tier: tier.id,
    fee: tier.feeCents,
    currency: 'usd',
    distance_meters: quote.distanceMeters,
    driver_available: quote.isDriverAvailable,
    ...(waitingBecause === null ? {} : { waiting_because: waitingBecause }),
    pickup_eta: arrivalTimes(quote.pickup, nowMs),
    delivery_eta: arrivalTimes(quote.delivery, nowMs),
    deliver_by: quote.deliverBy.toISOString(),
    estimated_delivery: quote.window ?? arrivalTimes(quote.delivery, nowMs),
  };
}
