import {
  type CallCounts,
  type StandIn,
  type StandInReply,
  type StandInRequest,
  startStandIn,
  type VendorApi,
} from './stand-in.ts';
import { StripeCards } from './stripe-cards.ts';
import { controlDashboard, createDashboard, type Dashboard, giveBack, tellOfPayment } from './stripe-dashboard.ts';
import type { EventTarget } from './stripe-events.ts';
import { cardAnswer, type Payment, paymentIntentBody, refundBody, sumOf } from './stripe-objects.ts';
import { fingerprint, keyOf, type StripeEntry, StripeRecords } from './stripe-records.ts';
import { checkPayment, invalid, metadataOf, missing, refusal } from './stripe-requests.ts';

/** Time until the stand-in's search finds a payment: what Stripe's search takes on a good day. */
export const STAND_IN_SEARCH_LAG_MS = 60_000;

export type StripeStandIn = StandIn & {
  /** What people and banks do at Stripe; over HTTP see stripe-dashboard.ts. */
  readonly dashboard: Dashboard;
  payments(): readonly Payment[];
  /** Sends signed events from now on, of all that happens. */
  sendEventsTo(target: EventTarget): void;
  /** Deliveries of events. */
  events(): CallCounts;
};

/**
 * Starts the part of Stripe's API that this service uses, with its record in `ledgerFile`: payment intents
 * (create with confirm, retrieve, cancel, list by customer, search by order, which lags), refunds, customers, Checkout
 * in setup mode with a page, idempotency keys by Stripe's rules (replay, other parameters, in progress), and signed
 * events. A card's name decides its bank's answer (`cardAnswer`). Every `cus_…` exists unless its name contains
 * "missing", and every `sk_test_…` key is accepted. Faults and ledger: see stand-in.ts.
 */
export async function startStripeStandIn(options: {
  ledgerFile: string;
  port?: number;
  /** Most records of each kind that it remembers; MAX_STAND_IN_RECORDS by default. */
  maxRecords?: number;
  /** Time until a search finds a payment; STAND_IN_SEARCH_LAG_MS by default. */
  searchLagMs?: number;
  /** The time in milliseconds; this machine's by default. */
  now?: () => number;
}): Promise<StripeStandIn> {
  let baseUrl = '';
  const records = new StripeRecords(options.ledgerFile, options.maxRecords, options.now ?? Date.now);
  const dashboard = createDashboard(records);
  const api = new StripeApi(records, dashboard, () => baseUrl, options);
  const standIn = await startStandIn(api, options.port);
  baseUrl = standIn.url;
  return {
    ...standIn,
    dashboard,
    payments: () => records.payments(),
    sendEventsTo: (target) => records.events.sendTo(target),
    events: () => records.events.counts(),
  };
}

class StripeApi implements VendorApi {
  readonly #records: StripeRecords;
  readonly #dashboard: Dashboard;
  readonly #cards: StripeCards;
  readonly #inProgress = new Set<string>();
  readonly #searchLagMs: number;

  constructor(
    records: StripeRecords,
    dashboard: Dashboard,
    baseUrl: () => string,
    { searchLagMs = STAND_IN_SEARCH_LAG_MS }: Parameters<typeof startStripeStandIn>[0],
  ) {
    this.#records = records;
    this.#dashboard = dashboard;
    this.#searchLagMs = searchLagMs;
    this.#cards = new StripeCards(records, baseUrl);
  }

  async answer(request: StandInRequest, pause: () => Promise<void>): Promise<StandInReply | null> {
    const reply = await this.#answer(request, pause);
    if (reply === null) return null;
    return { ...reply, headers: { 'Request-Id': this.#records.newId('req'), ...reply.headers } };
  }

  failure(status: number): StandInReply {
    if (status === 429) return refusal(429, 'invalid_request_error', 'Too many requests', { code: 'rate_limit' });
    if (status === 400) return invalid('Your account cannot currently make charges.');
    return refusal(status, 'api_error', 'Something went wrong on the stand-in’s side');
  }

  repeat(request: StandInRequest, reply: StandInReply): void {
    const marks = this.#records.marksOf(request);
    this.#records.write({ type: 'failure', id: `failure_${marks.key}`, ...marks, status: reply.status });
  }

  entries(): readonly StripeEntry[] {
    return this.#records.entries();
  }

  control(request: StandInRequest): StandInReply | null {
    return controlDashboard(this.#dashboard, request);
  }

  close(): void {
    this.#records.close();
  }

  async #answer(request: StandInRequest, pause: () => Promise<void>): Promise<StandInReply | null> {
    const page = this.#cards.page(request);
    if (page) return page;
    if (!/^Bearer (sk|rk)_test_/.test(request.headers.authorization ?? '')) {
      await pause();
      return refusal(401, 'invalid_request_error', 'Invalid API Key provided');
    }
    const key = keyOf(request);
    if (request.method !== 'POST' || key === null) {
      await pause();
      return this.#act(request);
    }
    const mark = fingerprint(request);
    const earlier = this.#records.underKey(key);
    if (earlier && earlier.fingerprint !== mark) {
      return refusal(
        400,
        'idempotency_error',
        'Keys for idempotent requests can only be used with the same parameters',
      );
    }
    if (this.#inProgress.has(key)) {
      const message = 'There is currently another in-progress request using this key';
      return refusal(409, 'idempotency_error', message, { code: 'idempotency_key_in_use' });
    }
    this.#inProgress.add(key);
    try {
      await pause();
      if (!earlier) return this.#act(request);
      return { ...this.#replyOf(earlier), headers: { 'Idempotent-Replayed': 'true' } };
    } finally {
      this.#inProgress.delete(key);
    }
  }

  #act(request: StandInRequest): StandInReply | null {
    const { method, path, query } = request;
    if (method === 'POST' && path === '/v1/payment_intents') return this.#createPayment(request);
    if (method === 'POST' && path === '/v1/refunds') return this.#createRefund(request);
    if (method === 'GET' && path === '/v1/refunds') return this.#listRefunds(query.get('payment_intent') ?? '');
    if (method === 'GET' && path === '/v1/payment_intents') return this.#list(request);
    if (method === 'GET' && path === '/v1/payment_intents/search') return this.#search(request);
    const [, id, cancel] = /^\/v1\/payment_intents\/(pi_\w+?)(\/cancel)?$/.exec(path) ?? [];
    if (id && method === (cancel ? 'POST' : 'GET')) {
      const payment = this.#records.find('payment', id);
      if (!payment) return missing(404, 'payment_intent', id, 'intent');
      return cancel ? this.#cancel(payment) : { status: 200, body: paymentIntentBody(payment) };
    }
    const unknown = refusal(404, 'invalid_request_error', `Unrecognized request URL (${method}: ${path})`);
    return this.#cards.answer(request) ?? unknown;
  }

  #createPayment(request: StandInRequest): StandInReply | null {
    const form = new URLSearchParams(request.body);
    const wrong = checkPayment(form);
    if (wrong) return wrong;
    const paymentMethod = form.get('payment_method') as string;
    const metadata = metadataOf(form);
    const answer = cardAnswer(paymentMethod, () =>
      this.#records
        .payments()
        .some((payment) => payment.metadata.order_id === metadata.order_id && payment.answer.kind !== 'paid'),
    );
    const isGone = this.#records.find('detached', paymentMethod) !== undefined;
    if (!answer || isGone) return missing(400, 'PaymentMethod', paymentMethod, 'payment_method');
    const payment: Payment = this.#records.write({
      type: 'payment',
      id: this.#records.newId('pi'),
      ...this.#records.marksOf(request),
      amount: Number(form.get('amount')),
      currency: form.get('currency') as string,
      customer: form.get('customer') as string,
      paymentMethod,
      metadata,
      answer,
      created: this.#records.seconds(),
    });
    tellOfPayment(this.#records, payment, true);
    return /time_?out/i.test(paymentMethod) ? null : this.#replyOf(payment);
  }

  #cancel(payment: Payment): StandInReply {
    const { kind } = payment.answer;
    if (kind === 'paid' || kind === 'processing' || kind === 'canceled') {
      const message = 'You cannot cancel this PaymentIntent because of its status.';
      return invalid(message, 'payment_intent_unexpected_state');
    }
    const canceled = this.#records.write({ ...payment, answer: { kind: 'canceled' } });
    return { status: 200, body: paymentIntentBody(canceled) };
  }

  /** What is left of the payment is given back. */
  #createRefund(request: StandInRequest): StandInReply {
    const paymentIntent = new URLSearchParams(request.body).get('payment_intent') ?? '';
    const payment = this.#records.find('payment', paymentIntent);
    if (!payment) return missing(404, 'payment_intent', paymentIntent, 'payment_intent');
    if (payment.answer.kind !== 'paid') {
      return invalid('This PaymentIntent does not have a successful charge to refund.');
    }
    const amount = payment.amount - sumOf(this.#records.refundsOf(paymentIntent));
    if (amount <= 0) return invalid('Charge has already been refunded.', 'charge_already_refunded');
    return this.#replyOf(giveBack(this.#records, payment, amount, this.#records.marksOf(request), true));
  }

  #listRefunds(paymentIntent: string): StandInReply {
    const data = this.#records.refundsOf(paymentIntent).map(refundBody).reverse();
    return { status: 200, body: { object: 'list', url: '/v1/refunds', has_more: false, data } };
  }

  /** The payments of a customer, newest first, by page. */
  #list({ query, path }: StandInRequest): StandInReply {
    const since = Number(query.get('created[gte]') ?? 0);
    const all = this.#records
      .payments()
      .filter(({ customer, created }) => customer === query.get('customer') && created >= since)
      .toReversed();
    const after = all.findIndex(({ id }) => id === query.get('starting_after')) + 1;
    const page = all.slice(after, after + Number(query.get('limit') ?? 10));
    const has_more = after + page.length < all.length;
    return { status: 200, body: { object: 'list', url: path, has_more, data: page.map(paymentIntentBody) } };
  }

  #search({ query, path }: StandInRequest): StandInReply {
    const asked = /^metadata\[['"]order_id['"]\]:['"]([^'"\\]*)['"]$/.exec(query.get('query') ?? '');
    if (!asked) return invalid('We were unable to parse your search query.', undefined, 'query');
    const shownMs = this.#records.now() - this.#searchLagMs;
    const data = this.#records
      .payments()
      .filter(({ metadata, created }) => metadata.order_id === asked[1] && created * 1_000 <= shownMs)
      .map(paymentIntentBody)
      .reverse();
    return { status: 200, body: { object: 'search_result', url: path, has_more: false, next_page: null, data } };
  }

  #replyOf(entry: StripeEntry): StandInReply {
    switch (entry.type) {
      case 'refund':
        return { status: 200, body: refundBody(entry) };
      case 'payment': {
        const { answer } = entry;
        if (answer.kind === 'unfinished') return this.failure(500);
        const body = paymentIntentBody(entry);
        if (answer.kind !== 'declined') return { status: 200, body };
        return { status: 402, body: { error: { ...body.last_payment_error, payment_intent: body } } };
      }
      case 'customer':
      case 'session':
        return this.#cards.reply(entry);
      default:
        return this.failure(entry.type === 'failure' ? entry.status : 500);
    }
  }
}
