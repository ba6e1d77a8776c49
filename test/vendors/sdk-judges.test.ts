/** What is sent to Stripe and Twilio without their SDKs, beside what the SDKs send and make of the replies. */
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import Stripe from 'stripe';
import twilio from 'twilio';
import { expect, expectTypeOf, test } from 'vitest';
import type { ChargeRequest } from '../../src/payments/charger.ts';
import { outcomeOfError } from '../../src/payments/stripe.ts';
import { openStripe } from '../../src/payments/stripe-http.ts';
import * as objects from '../../src/sandbox/stripe-objects.ts';
import { refusalOf } from '../../src/texts/twilio.ts';
import { createHttpExchange } from '../../src/vendors/http-exchange.ts';
import { closedAfterTest, listenInTest } from '../harness/closed-after-test.ts';
import { STEP_MS } from '../harness/patience.ts';
import { chargerOf, textSenderOf, twilioStandIn } from '../harness/stand-ins.ts';

type Received = { method: string; path: string; headers: Record<string, unknown>; fields: string[][] };

/** A server that keeps what it receives and answers with this. */
async function recorder(status: number, reply: unknown) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push(readRequest(request, body));
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(reply));
    });
  });
  return { received, apiBase: (await listenInTest(server)).url };
}

/** A request without what names the client, and without its length, which two ways of writing a form differ in. */
function readRequest(request: IncomingMessage, body: string): Received {
  const { method = '', url = '', headers: all } = request;
  const { host: _host, 'user-agent': _, 'x-stripe-client-user-agent': __, 'content-length': length, ...headers } = all;
  expect(Number(length ?? 0)).toBe(Buffer.byteLength(body));
  return { method, path: url, headers, fields: [...new URLSearchParams(body)] };
}

const CHARGE: ChargeRequest = {
  idempotencyKey: '01890a5d-ac96-774b-bcce-b302099a8057:1',
  amountCents: 999,
  customerId: 'cus_1',
  paymentMethodId: 'pm_card_visa',
  orderId: '01890a5d-ac96-774b-bcce-b302099a8057',
  retailerId: 'retailer-1',
};

/** The charge by Stripe's SDK. */
function chargeBySdk(stripe: Stripe, charge: ChargeRequest) {
  return stripe.paymentIntents.create(
    {
      amount: charge.amountCents,
      currency: 'usd',
      customer: charge.customerId,
      payment_method: charge.paymentMethodId,
      allowed_payment_method_types: ['card'],
      off_session: true,
      confirm: true,
      metadata: { order_id: charge.orderId, retailer_id: charge.retailerId },
    },
    { idempotencyKey: charge.idempotencyKey },
  );
}

async function stripeWorld(status: number, reply: unknown) {
  const { received, apiBase } = await recorder(status, reply);
  const options = { secretKey: 'sk_test_1', apiBase, timeoutMs: STEP_MS };
  const stripe = openStripe(options, closedAfterTest(createHttpExchange()));
  return { received, charger: chargerOf(apiBase), stripe };
}

test.each<[string, Partial<ChargeRequest>]>([
  ['plain', {}],
  ['with the next attempt of the same order', { idempotencyKey: `${CHARGE.orderId}:2`, amountCents: 1_999 }],
  ['with every character that a form marks', { customerId: "cus_ &=+%'()*![]é😀", paymentMethodId: 'pm_\n#?/:;@,$' }],
])('a charge %s is what Stripe’s SDK sends', async (_name, changes) => {
  const { received, charger, stripe } = await stripeWorld(200, { id: 'pi_1', status: 'succeeded' });
  const charge = { ...CHARGE, ...changes };
  expect(await charger.charge(charge)).toEqual({ kind: 'paid', paymentIntentId: 'pi_1' });
  await chargeBySdk(stripe, charge);
  expect(received).toHaveLength(2);
  expect(received[0]).toEqual(received[1]);
});

test('what the stand-in of Stripe replies is whole by the types of its SDK, which the compiler checks', () => {
  expectTypeOf(objects.paymentIntentBody).returns.toEqualTypeOf<Stripe.PaymentIntent>();
  expectTypeOf(objects.chargeBody).returns.toEqualTypeOf<Stripe.Charge>();
  expectTypeOf(objects.refundBody).returns.toEqualTypeOf<Stripe.Refund>();
  expectTypeOf(objects.disputeBody).returns.toEqualTypeOf<Stripe.Dispute>();
  expectTypeOf(objects.customerBody).returns.toEqualTypeOf<Stripe.Customer>();
  expectTypeOf(objects.sessionBody).returns.toEqualTypeOf<Stripe.Checkout.Session>();
  expectTypeOf(objects.setupIntentBody).returns.toEqualTypeOf<Stripe.SetupIntent>();
  expectTypeOf(objects.paymentMethodBody).returns.toEqualTypeOf<Stripe.PaymentMethod>();
});

test('the stand-in of Stripe names no property that the types of its SDK do not have, which the compiler checks', () => {
  type Whole = typeof import('../../src/sandbox/stripe-whole.ts');
  expectTypeOf<keyof Whole['WHOLE_INTENT']>().toExtend<keyof Stripe.PaymentIntent>();
  expectTypeOf<keyof Whole['WHOLE_CHARGE']>().toExtend<keyof Stripe.Charge>();
  expectTypeOf<keyof Whole['WHOLE_CHARGE']['outcome']>().toExtend<keyof Stripe.Charge.Outcome>();
  expectTypeOf<keyof Whole['WHOLE_REFUND']>().toExtend<keyof Stripe.Refund>();
  expectTypeOf<keyof Whole['WHOLE_DISPUTE']['evidence']>().toExtend<keyof Stripe.Dispute.Evidence>();
  expectTypeOf<keyof Whole['WHOLE_CARD']['card']>().toExtend<keyof Stripe.PaymentMethod.Card>();
  expectTypeOf<keyof Whole['WHOLE_SETUP']>().toExtend<keyof Stripe.SetupIntent>();
  expectTypeOf<keyof Whole['WHOLE_CUSTOMER']>().toExtend<keyof Stripe.Customer>();
  expectTypeOf<keyof Whole['WHOLE_SESSION']>().toExtend<keyof Stripe.Checkout.Session>();
});

const CARD_ERROR = {
  type: 'card_error',
  message: 'declined',
  code: 'card_declined',
  decline_code: 'insufficient_funds',
  advice_code: 'try_again_later',
  payment_intent: { id: 'pi_1', status: 'requires_payment_method' },
};

/** Stripe's statuses and types of errors, as docs.stripe.com/api/errors lists them, and replies that it may not give. */
const STRIPE_REFUSALS: [number, unknown][] = [
  [400, { error: { type: 'invalid_request_error', code: 'parameter_missing', param: 'amount', message: 'x' } }],
  [400, { error: { type: 'idempotency_error', message: 'x' } }],
  [400, { error: { type: 'invalid_request_error', code: 'rate_limit', message: 'x' } }],
  [400, { error: { type: 'invalid_request_error', code: 'resource_missing', param: 'customer' } }],
  [401, { error: { type: 'invalid_request_error', message: 'x' } }],
  [402, { error: CARD_ERROR }],
  [402, { error: { ...CARD_ERROR, code: 'authentication_required', decline_code: undefined } }],
  [402, { error: { ...CARD_ERROR, advice_code: 'do_not_try_again' } }],
  [402, { error: { ...CARD_ERROR, network_advice_code: '27' } }],
  [402, { error: { type: 'invalid_request_error', message: 'the parameters were valid, and it failed' } }],
  [403, { error: { type: 'invalid_request_error', message: 'x' } }],
  [404, { error: { type: 'invalid_request_error', code: 'resource_missing', param: 'payment_method' } }],
  [409, { error: { type: 'invalid_request_error', code: 'idempotency_key_in_use' } }],
  [409, { error: { type: 'idempotency_error' } }],
  [424, { error: { type: 'api_error' } }],
  [429, { error: { type: 'invalid_request_error', code: 'rate_limit' } }],
  [500, { error: { type: 'api_error' } }],
  [503, { error: { type: 'api_error', code: 'lock_timeout' } }],
  [200, { error: CARD_ERROR }],
  [400, { error: 'invalid_grant', error_description: 'as OAuth says it' }],
  [404, {}],
];

test.each(STRIPE_REFUSALS)('a %i %j of Stripe’s is the same error as by its SDK', async (status, reply) => {
  const { charger, stripe } = await stripeWorld(status, reply);
  const error: unknown = await chargeBySdk(stripe, CHARGE).catch((thrown: unknown) => thrown);
  if (!(error instanceof Stripe.errors.StripeError)) throw new Error('the SDK took it for a payment');
  expect(await charger.charge(CHARGE)).toEqual(outcomeOfError(error));
});

const TEXT = {
  to: '+15551234567',
  body: 'Café & Co: your delivery + "more" 100% ~*()\'! https://a.example/track/x?t=o',
};
const USEFUL_SECONDS = 3_600;

async function twilioWorld(status: number, reply: unknown) {
  const { received, apiBase } = await recorder(status, reply);
  const account = { accountSid: 'AC00000000000000000000000000000000', authToken: 'token' };
  const from = '+15550000000';
  const { messages } = twilio(account.accountSid, account.authToken, { httpClient: clientTo(apiBase) });
  return {
    received,
    sender: textSenderOf(apiBase, { ...account, from }),
    createBySdk: (text: typeof TEXT & { statusCallback?: string }) =>
      messages.create({ ...text, validityPeriod: USEFUL_SECONDS, from }),
  };
}

/** The SDK's own client, led here instead of to Twilio. */
function clientTo(apiBase: string) {
  const httpClient = new twilio.RequestClient();
  const request = httpClient.request.bind(httpClient);
  httpClient.request = (options) =>
    request({ ...options, uri: options.uri.replace('https://api.twilio.com', apiBase) });
  return httpClient;
}

test.each<[string, typeof TEXT & { statusUrl?: string }]>([
  ['plain', TEXT],
  ['with an address for its news', { ...TEXT, statusUrl: 'https://a.example/twilio/status?order=1&kind=tracking' }],
  ['of another alphabet', { ...TEXT, body: '花店 😀\n' }],
])('a text %s is what Twilio’s SDK sends', async (_name, { statusUrl, ...text }) => {
  const { received, sender, createBySdk } = await twilioWorld(201, { sid: 'SM1' });
  expect(await sender.send({ ...text, statusUrl, usefulSeconds: USEFUL_SECONDS })).toEqual({
    kind: 'sent',
    sid: 'SM1',
  });
  const callback = statusUrl ? { statusCallback: `${statusUrl}#rc=5&rp=ct,rt,5xx` } : {};
  await createBySdk({ ...text, ...callback });
  const [ours, bySdk] = received;
  // Its client also names the encodings of a reply that it can read, and we read none.
  expect(ours).toEqual({ ...bySdk, headers: { ...bySdk?.headers, 'accept-encoding': undefined } });
});

/** Twilio's two forms of an error (twilio.com/docs/usage/twilios-response), and replies that are not its own. */
const TWILIO_REFUSALS: [number, unknown][] = [
  [400, { code: 21211, message: 'x', more_info: 'https://a.example', status: 400 }],
  [400, { code: 21610, message: 'x', status: 400 }],
  [400, { type: 'https://a.example', title: 'x', status: 400, code: 21614 }],
  [401, { code: 20003, message: 'Authenticate', status: 401 }],
  [404, { code: 20404, message: 'x', status: 404 }],
  [429, { code: 20429, message: 'Too Many Requests', status: 429 }],
  [429, { code: 21611, message: 'the queue is full', status: 429 }],
  [400, { code: 21611, message: 'the queue is full', status: 400 }],
  [500, { code: 20500, message: 'x', status: 500 }],
  [503, {}],
  [404, { message: 'no route' }],
  [403, 'a text'],
  [400, null],
];

test.each(TWILIO_REFUSALS)('a %i %j of Twilio’s is the same error as by its SDK', async (status, reply) => {
  const { sender, createBySdk } = await twilioWorld(status, reply);
  const error = await createBySdk(TEXT).then(
    () => expect.unreachable(),
    (thrown: { status: number; code?: unknown }) => thrown,
  );
  expect({ ...(await sender.send({ ...TEXT, usefulSeconds: USEFUL_SECONDS })), says: undefined }).toEqual(
    refusalOf(error.status, error.code),
  );
});

test.each([
  ['requires_payment_method', null, 'unfinished'],
  ['requires_confirmation', null, 'unfinished'],
  ['requires_payment_method', { decline_code: 'lost_card' }, 'declined'],
  ['succeeded', null, 'paid'],
])('of a failure that Stripe repeats, a payment that is %s with the error %j is %s', async (status, error, kind) => {
  const intent = { id: 'pi_1', created: 1, status, last_payment_error: error, metadata: { order_id: CHARGE.orderId } };
  const { charger } = await stripeWorld(200, { object: 'list', has_more: false, data: [intent] });
  const attempt = { orderId: CHARGE.orderId, customerId: CHARGE.customerId, sentAtMs: 0 };
  expect(await charger.findRecentCharge(attempt)).toMatchObject({ kind });
});

/** What an object of the SDK has, by name, as its type promises. */
const undefinedIn = (instance: { toJSON(): object }) =>
  Object.entries(instance.toJSON()).flatMap(([name, value]) => (value === undefined ? [name] : []));

test('what the stand-in for Twilio answers has every property of the SDK’s objects', async () => {
  const standIn = await twilioStandIn();
  const sid = `AC${'0'.repeat(32)}`;
  const client = twilio(sid, 'token', { httpClient: clientTo(standIn.url) });
  const created = await client.messages.create({ to: '+14155550123', from: '+15005550006', body: 'text' });
  const [listed] = await client.messages.list({ limit: 1 });
  const [number] = await client.incomingPhoneNumbers.list({ phoneNumber: '+15005550006', limit: 1 });
  const [code] = await client.shortCodes.list({ shortCode: '12345', limit: 1 });
  for (const instance of [created, listed, number, code]) expect(instance && undefinedIn(instance)).toEqual([]);
  expect([created.status, listed?.status]).toEqual(['queued', 'delivered']);
});
