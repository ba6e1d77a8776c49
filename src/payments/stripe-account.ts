import Stripe from 'stripe';
import type { StripeRefund } from '../store/payments/stripe-callbacks.ts';
import { createHttpExchange } from '../vendors/http-exchange.ts';
import { type RetryLater, retryLater } from '../vendors/retry-later.ts';
import { readRefund } from './stripe-events.ts';
import { openStripe, type StripeOptions, withoutAnswer } from './stripe-http.ts';

/** Most refunds of one payment that are read. A refund of a fee in more parts is left to its own callbacks. */
const MAX_REFUNDS_LISTED = 100;

/** Stripe's refusal of a call, by its code. */
export type Refused = { readonly kind: 'refused'; readonly code: string };
export type StoredCard = {
  readonly kind: 'card';
  readonly customerId: string;
  /** Null where the card was taken off its customer since. */
  readonly paymentMethodId: string | null;
};

/** What is asked of Stripe beside charges. No method throws for an answer of Stripe's or the lack of one. */
export type StripeAccount = {
  /** Makes a customer. The same key makes one, for as long as Stripe keeps it (24 hours). */
  createCustomer(customer: {
    readonly idempotencyKey: string;
    readonly name: string;
    readonly retailerId: string;
  }): Promise<{ readonly kind: 'customer'; readonly customerId: string } | Refused | RetryLater>;
  /** Makes a page of Stripe's on which a store gives its card; nothing is charged. */
  createCardLink(link: {
    readonly customerId: string;
    readonly retailerId: string;
    readonly doneUrl: string;
    readonly cancelledUrl: string;
  }): Promise<{ readonly kind: 'link'; readonly url: string; readonly expiresAt: Date } | Refused | RetryLater>;
  /** The card that a page took; `none` where Stripe knows no such page. */
  findCard(setupIntentId: string): Promise<StoredCard | { readonly kind: 'none' } | RetryLater>;
  /** The order that a payment was made for; null where it was made for none of ours. */
  findOrder(
    paymentIntentId: string,
  ): Promise<{ readonly kind: 'order'; readonly order: PaidOrder | null } | RetryLater>;
  /** The refunds of a payment, at most MAX_REFUNDS_LISTED. */
  listRefunds(
    paymentIntentId: string,
  ): Promise<{ readonly kind: 'refunds'; readonly refunds: readonly StripeRefund[] } | RetryLater>;
  close(): void;
};

/** A payment by the order that it was made for. */
export type PaidOrder = { readonly orderId: string; readonly amountCents: number };

export function createStripeAccount(options: StripeOptions): StripeAccount {
  const http = createHttpExchange();
  const stripe = openStripe(options, http);
  return {
    createCustomer: ({ idempotencyKey, name, retailerId }) =>
      answerOf(async () => {
        const made = await stripe.customers.create({ name, metadata: { retailer_id: retailerId } }, { idempotencyKey });
        return typeof made.id === 'string' ? { kind: 'customer', customerId: made.id } : retryLater('bad_reply');
      }),
    createCardLink: (link) => answerOf(() => createCardLink(stripe, link)),
    findCard: (setupIntentId) => found(() => findCard(stripe, setupIntentId), { kind: 'none' }),
    findOrder: (paymentIntentId) => found(() => findOrder(stripe, paymentIntentId), { kind: 'order', order: null }),
    listRefunds: (paymentIntentId) =>
      found(
        async () => {
          const { data } = await stripe.refunds.list({ payment_intent: paymentIntentId, limit: MAX_REFUNDS_LISTED });
          return { kind: 'refunds', refunds: data.flatMap((refund) => readRefund(refund) ?? []) };
        },
        { kind: 'refunds', refunds: [] },
      ),
    close: () => http.close(),
  };
}

async function createCardLink(stripe: Stripe, link: Parameters<StripeAccount['createCardLink']>[0]) {
  const session = await stripe.checkout.sessions.create({
    mode: 'setup',
    customer: link.customerId,
    allowed_payment_method_types: ['card'],
    success_url: link.doneUrl,
    cancel_url: link.cancelledUrl,
    metadata: { retailer_id: link.retailerId },
  });
  if (typeof session.url !== 'string' || typeof session.expires_at !== 'number') return retryLater('bad_reply');
  return { kind: 'link' as const, url: session.url, expiresAt: new Date(session.expires_at * 1_000) };
}

async function findCard(stripe: Stripe, setupIntentId: string): Promise<StoredCard | { kind: 'none' } | RetryLater> {
  const setup = await stripe.setupIntents.retrieve(setupIntentId, { expand: ['payment_method'] });
  const card = setup.payment_method;
  const customerId = typeof setup.customer === 'string' ? setup.customer : setup.customer?.id;
  if (setup.status !== 'succeeded' || !customerId || card === null || typeof card !== 'object') {
    return retryLater('bad_reply');
  }
  return { kind: 'card', customerId, paymentMethodId: card.customer ? card.id : null };
}

async function findOrder(stripe: Stripe, paymentIntentId: string) {
  const { metadata, amount } = await stripe.paymentIntents.retrieve(paymentIntentId);
  const orderId = metadata?.order_id;
  return { kind: 'order' as const, order: orderId ? { orderId, amountCents: amount } : null };
}

/** Runs a call; a refusal says that there is nothing. */
async function found<Found>(call: () => Promise<Found>, nothing: Found): Promise<Found | RetryLater> {
  const answer = await answerOf(call);
  return isRefused(answer) ? nothing : answer;
}

const isRefused = (answer: unknown): answer is Refused => (answer as { kind?: unknown }).kind === 'refused';

async function answerOf<Answer>(call: () => Promise<Answer>): Promise<Answer | Refused | RetryLater> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeError)) throw error;
    return withoutAnswer(error) ?? { kind: 'refused', code: error.code ?? 'invalid_request' };
  }
}
