import { createHash, randomBytes } from 'node:crypto';
import { type Ledger, openLedger } from './ledger.ts';
import {
  LatestRecords,
  type StandIn,
  type StandInReply,
  type StandInRequest,
  startStandIn,
  type VendorApi,
} from './stand-in.ts';
import { cardAnswer, type Payment, paymentIntentBody, type Refund, refundBody } from './stripe-objects.ts';
import { checkPayment, metadataOf, missing, refusal } from './stripe-requests.ts';

/** A failure that Stripe repeats under an idempotency key. */
type Failure = {
  readonly type: 'failure';
  readonly key: string | null;
  readonly fingerprint: string;
  readonly status: number;
};

type StripeEntry = Payment | Refund | Failure;

/**
 * Starts the part of Stripe's API that this service uses, with its record in `ledgerFile`: payment intents
 * (create with confirm, retrieve, search by order), refunds, and idempotency keys by Stripe's rules (replay,
 * other parameters, in progress). A card's name decides its bank's answer (`cardAnswer`). Every `cus_…`
 * exists unless its name contains "missing", and every `sk_test_…` key is accepted. Faults and ledger: see
 * stand-in.ts.
 */
export async function startStripeStandIn(options: {
  ledgerFile: string;
  port?: number;
  /** Most records of each kind that it remembers; MAX_STAND_IN_RECORDS by default. */
  maxRecords?: number;
}): Promise<StandIn> {
  return startStandIn(new StripeApi(options.ledgerFile, options.maxRecords), options.port ?? 0);
}

class StripeApi implements VendorApi {
  readonly #ledger: Ledger<StripeEntry>;
  readonly #entries: LatestRecords<StripeEntry>;
  readonly #byKey: LatestRecords<StripeEntry>;
  readonly #refunds: LatestRecords<Refund>;
  readonly #inProgress = new Set<string>();

  constructor(ledgerFile: string, maxRecords: number | undefined) {
    this.#entries = new LatestRecords(maxRecords);
    this.#byKey = new LatestRecords(maxRecords);
    this.#refunds = new LatestRecords(maxRecords);
    this.#ledger = openLedger<StripeEntry>(ledgerFile, (entry) => this.#keep(entry));
  }

  async answer(request: StandInRequest, pause: () => Promise<void>): Promise<StandInReply> {
    const reply = await this.#answer(request, pause);
    return { ...reply, headers: { 'Request-Id': newId('req'), ...reply.headers } };
  }

  failure(status: number): StandInReply {
    if (status === 429) return refusal(429, 'invalid_request_error', 'Too many requests', { code: 'rate_limit' });
    return refusal(status, 'api_error', 'Something went wrong on the stand-in’s side');
  }

  repeat(request: StandInRequest, reply: StandInReply): void {
    this.#write({ type: 'failure', key: keyOf(request), fingerprint: fingerprint(request), status: reply.status });
  }

  entries(): readonly StripeEntry[] {
    return [...this.#entries.values()];
  }

  close(): void {
    this.#ledger.close();
  }

  async #answer(request: StandInRequest, pause: () => Promise<void>): Promise<StandInReply> {
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
    const earlier = this.#byKey.get(key);
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

  #act(request: StandInRequest): StandInReply {
    const { method, path } = request;
    if (method === 'POST' && path === '/v1/payment_intents') return this.#createPayment(request);
    if (method === 'POST' && path === '/v1/refunds') return this.#createRefund(request);
    if (method === 'GET' && path === '/v1/payment_intents/search') return this.#search(request);
    const [, id] = /^\/v1\/payment_intents\/(pi_\w+)$/.exec(path) ?? [];
    if (method === 'GET' && id) {
      const payment = this.#payment(id);
      return payment ? { status: 200, body: paymentIntentBody(payment) } : missing(404, 'payment_intent', id, 'intent');
    }
    return refusal(404, 'invalid_request_error', `Unrecognized request URL (${method}: ${path})`);
  }

  #createPayment(request: StandInRequest): StandInReply {
    const form = new URLSearchParams(request.body);
    const wrong = checkPayment(form);
    if (wrong) return wrong;
    const paymentMethod = form.get('payment_method') as string;
    const metadata = metadataOf(form);
    const answer = cardAnswer(paymentMethod, () =>
      this.#payments().some(
        (payment) => payment.metadata.order_id === metadata.order_id && payment.answer.kind === 'declined',
      ),
    );
    if (!answer) return missing(400, 'PaymentMethod', paymentMethod, 'payment_method');
    const payment: Payment = {
      type: 'payment',
      id: newId('pi'),
      key: keyOf(request),
      fingerprint: fingerprint(request),
      amount: Number(form.get('amount')),
      currency: form.get('currency') as string,
      customer: form.get('customer') as string,
      paymentMethod,
      metadata,
      answer,
      created: Math.floor(Date.now() / 1000),
    };
    this.#write(payment);
    return this.#replyOf(payment);
  }

  #createRefund(request: StandInRequest): StandInReply {
    const paymentIntent = new URLSearchParams(request.body).get('payment_intent') ?? '';
    const payment = this.#payment(paymentIntent);
    if (!payment) return missing(404, 'payment_intent', paymentIntent, 'payment_intent');
    if (payment.answer.kind !== 'paid') {
      return refusal(400, 'invalid_request_error', 'This PaymentIntent does not have a successful charge to refund.');
    }
    if (this.#refunds.has(paymentIntent)) {
      const message = 'Charge has already been refunded.';
      return refusal(400, 'invalid_request_error', message, { code: 'charge_already_refunded' });
    }
    const refund: Refund = {
      type: 'refund',
      id: newId('re'),
      key: keyOf(request),
      fingerprint: fingerprint(request),
      paymentIntent,
      amount: payment.amount,
      created: Math.floor(Date.now() / 1000),
    };
    this.#write(refund);
    return this.#replyOf(refund);
  }

  #search({ query, path }: StandInRequest): StandInReply {
    const asked = /^metadata\[['"]order_id['"]\]:['"]([^'"\\]*)['"]$/.exec(query.get('query') ?? '');
    if (!asked)
      return refusal(400, 'invalid_request_error', 'We were unable to parse your search query.', { param: 'query' });
    const data = this.#payments()
      .filter((payment) => payment.metadata.order_id === asked[1])
      .map(paymentIntentBody)
      .reverse();
    return { status: 200, body: { object: 'search_result', url: path, has_more: false, next_page: null, data } };
  }

  #replyOf(entry: StripeEntry): StandInReply {
    if (entry.type === 'failure') return this.failure(entry.status);
    if (entry.type === 'refund') return { status: 200, body: refundBody(entry) };
    const { answer } = entry;
    const body = paymentIntentBody(entry);
    if (answer.kind === 'paid' || answer.kind === 'processing') return { status: 200, body };
    return { status: 402, body: { error: { ...body.last_payment_error, payment_intent: body } } };
  }

  #payment(id: string): Payment | undefined {
    const entry = this.#entries.get(id);
    return entry?.type === 'payment' ? entry : undefined;
  }

  #payments(): Payment[] {
    return this.entries().filter((entry) => entry.type === 'payment');
  }

  #write(entry: StripeEntry): void {
    this.#ledger.append(entry);
    this.#keep(entry);
  }

  #keep(entry: StripeEntry): void {
    this.#entries.set(entry.type === 'failure' ? `failure_${entry.key}` : entry.id, entry);
    if (entry.key !== null) this.#byKey.set(entry.key, entry);
    if (entry.type === 'refund') this.#refunds.set(entry.paymentIntent, entry);
  }
}

function keyOf({ headers }: StandInRequest): string | null {
  const key = headers['idempotency-key'];
  return typeof key === 'string' && key !== '' ? key : null;
}

function fingerprint({ path, body }: StandInRequest): string {
  return createHash('sha256').update(`${path}\n${body}`).digest('base64url');
}

function newId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString('hex')}`;
}
