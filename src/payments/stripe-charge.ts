import { setImmediate } from 'node:timers/promises';
import Stripe from 'stripe';
import { ExchangeError, type HttpExchange } from '../vendors/http-exchange.ts';
import type { ChargeRequest } from './charger.ts';
import { parseReply, type StripeOptions, serverOf } from './stripe-http.ts';

export type CreateIntent = (charge: ChargeRequest) => Promise<Stripe.PaymentIntent>;

/**
 * Makes a function that charges: it sends what `paymentIntents.create` of Stripe's SDK would send, which takes
 * twice the processor time, and makes its errors of the replies. A kept connection found closed is tried once
 * more, under the same key.
 *
 * The function throws an ExchangeError where no reply of Stripe's came, and a StripeError for a refusal.
 */
export function openChargeCall({ secretKey, apiBase, timeoutMs }: StripeOptions, http: HttpExchange): CreateIntent {
  const fixed = { ...serverOf(apiBase), path: '/v1/payment_intents', method: 'POST', timeoutMs };
  const headers = {
    Accept: 'application/json',
    'Content-Type': 'application/x-www-form-urlencoded',
    'User-Agent': 'sameday-dispatch',
    'Stripe-Version': Stripe.API_VERSION,
    Authorization: `Bearer ${secretKey}`,
  };
  return async (charge) => {
    const body = bodyOf(charge);
    const own = { 'Idempotency-Key': charge.idempotencyKey, 'Content-Length': Buffer.byteLength(body) };
    const send = () => http.send({ ...fixed, headers: { ...headers, ...own }, body });
    const reply = await send().catch(async (error: unknown) => {
      if (!isClosedConnection(error)) throw error;
      // The closing of its other connections, which came with this one, is heard before.
      await setImmediate();
      return send();
    });
    return intentOf(reply);
  };
}

function bodyOf(charge: ChargeRequest): string {
  return [
    `amount=${charge.amountCents}`,
    'currency=usd',
    `customer=${encodeURIComponent(charge.customerId)}`,
    `payment_method=${encodeURIComponent(charge.paymentMethodId)}`,
    // Cards only: other methods may ask to send a person to a page of theirs.
    'allowed_payment_method_types[0]=card',
    'off_session=true',
    'confirm=true',
    `metadata[order_id]=${encodeURIComponent(charge.orderId)}`,
    `metadata[retailer_id]=${encodeURIComponent(charge.retailerId)}`,
  ].join('&');
}

const isClosedConnection = (error: unknown): boolean =>
  error instanceof ExchangeError && Stripe.HttpClient.CONNECTION_CLOSED_ERROR_CODES.includes(error.code);

function intentOf({ status, headers, body }: Awaited<ReturnType<HttpExchange['send']>>): Stripe.PaymentIntent {
  const reply = parseReply(status, body);
  if (!('error' in reply) || !reply.error) return reply as Stripe.PaymentIntent;
  throw Stripe.errors.StripeError.generate({
    ...(reply.error as StripeRawError),
    statusCode: status,
    headers: headers as Record<string, string>,
  });
}

type StripeRawError = Parameters<typeof Stripe.errors.StripeError.generate>[0];
