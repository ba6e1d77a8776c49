import type { StripeDispute, StripeRefund } from '../store/payments/stripe-callbacks.ts';

/** The events that are taken; an endpoint at Stripe needs no others. */
export const STRIPE_EVENT_TYPES = [
  'charge.dispute.closed',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.refunded',
  'checkout.session.completed',
  'payment_intent.payment_failed',
  'payment_intent.succeeded',
  'payment_method.detached',
  'refund.created',
  'refund.failed',
  'refund.updated',
] as const;
export type StripeEventType = (typeof STRIPE_EVENT_TYPES)[number];

/** What an event is about, as far as the service heeds it. */
export type StripeNews =
  /** A store gave its card on a page that a link led to. */
  | { readonly kind: 'card_given'; readonly retailerId: string; readonly setupIntentId: string }
  | { readonly kind: 'card_removed'; readonly paymentMethodId: string }
  | {
      readonly kind: 'charge_paid';
      readonly orderId: string;
      readonly paymentIntentId: string;
      readonly amountCents: number;
    }
  | { readonly kind: 'charge_failed'; readonly orderId: string }
  | { readonly kind: 'refund'; readonly paymentIntentId: string; readonly refund: StripeRefund }
  /** The sum of a charge's refunds, which says nothing of each. */
  | {
      readonly kind: 'refunded';
      readonly orderId: string;
      readonly paymentIntentId: string;
      readonly refundedCents: number;
    }
  | ({ readonly kind: 'dispute'; readonly paymentIntentId: string } & StripeDispute);

export type StripeEvent = {
  readonly id: string;
  /** `other` for one that is not taken. */
  readonly type: StripeEventType | 'other';
  /** Whether it is about real money. */
  readonly live: boolean;
  /** By Stripe's clock, in whole seconds. */
  readonly createdAt: Date;
  /** Null for what concerns none of our orders and stores. */
  readonly news: StripeNews | null;
};

type Fields = { readonly [name: string]: unknown };

/** Reads a signed event. An endpoint may have another API version, so only lasting fields are read. */
export function readStripeEvent(event: unknown): StripeEvent | null {
  const { id, type, livemode, created, data, account } = fieldsOf(event);
  if (typeof id !== 'string' || typeof type !== 'string' || typeof created !== 'number') return null;
  const taken = STRIPE_EVENT_TYPES.find((each) => each === type);
  return {
    id,
    type: taken ?? 'other',
    live: livemode === true,
    createdAt: new Date(created * 1_000),
    // What a connected account tells of itself is nothing that this account was paid.
    news: taken && account === undefined ? readNews(taken, fieldsOf(fieldsOf(data).object)) : null,
  };
}

function readNews(type: StripeEventType, object: Fields): StripeNews | null {
  switch (type) {
    case 'checkout.session.completed':
      return readSession(object);
    case 'payment_method.detached':
      return isText(object.id) ? { kind: 'card_removed', paymentMethodId: object.id } : null;
    case 'payment_intent.succeeded':
    case 'payment_intent.payment_failed':
      return readPayment(type === 'payment_intent.succeeded', object);
    case 'charge.refunded':
      return readCharge(object);
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed': {
      const refund = readRefund(object);
      const paymentIntentId = idOf(object.payment_intent);
      return refund && paymentIntentId ? { kind: 'refund', paymentIntentId, refund } : null;
    }
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.closed':
      return readDispute(object);
  }
}

/** Only a page of ours names a store. */
function readSession({ mode, metadata, setup_intent }: Fields): StripeNews | null {
  const retailerId = fieldsOf(metadata).retailer_id;
  const setupIntentId = idOf(setup_intent);
  if (mode !== 'setup' || !isText(retailerId) || !setupIntentId) return null;
  return { kind: 'card_given', retailerId, setupIntentId };
}

function readPayment(isPaid: boolean, { id, metadata, amount, currency }: Fields): StripeNews | null {
  const orderId = fieldsOf(metadata).order_id;
  if (!isText(orderId) || !isText(id) || !isCents(amount) || currency !== 'usd') return null;
  if (!isPaid) return { kind: 'charge_failed', orderId };
  return { kind: 'charge_paid', orderId, paymentIntentId: id, amountCents: amount };
}

/** Stripe copies a payment's metadata to its charge. */
function readCharge({ metadata, payment_intent, amount_refunded }: Fields): StripeNews | null {
  const orderId = fieldsOf(metadata).order_id;
  const paymentIntentId = idOf(payment_intent);
  if (!isText(orderId) || !paymentIntentId || !isCents(amount_refunded)) return null;
  return { kind: 'refunded', orderId, paymentIntentId, refundedCents: amount_refunded };
}

/** A refund that waits for something counts as given back, since only a failure makes it undone. */
export function readRefund(refund: unknown): StripeRefund | null {
  const { id, amount, status } = fieldsOf(refund);
  if (!isText(id) || !isCents(amount)) return null;
  const isOver = status === 'failed' || status === 'canceled';
  return { refundId: id, amountCents: amount, status: isOver ? 'failed' : status === 'succeeded' ? status : 'pending' };
}

/** An inquiry that was closed took nothing. */
function readDispute(dispute: Fields): StripeNews | null {
  const { id, payment_intent, amount, reason, status } = dispute;
  const paymentIntentId = idOf(payment_intent);
  if (!isText(id) || !paymentIntentId || !isCents(amount) || !isText(status)) return null;
  const isKept = ['won', 'warning_closed'].includes(status) || (status === 'prevented' && !isGivenBack(dispute));
  return {
    kind: 'dispute',
    paymentIntentId,
    disputeId: id,
    amountCents: amount,
    reason: isText(reason) ? reason : 'general',
    status: isKept ? 'won' : status === 'lost' || status === 'prevented' ? 'lost' : 'open',
  };
}

/**
 * Whether a dispute that never became one took the money all the same: a resolution gives it back to prevent it, and a
 * block gives back nothing. Of any other kind, what went off the balance says so.
 */
function isGivenBack({ payment_method_details, balance_transactions }: Fields): boolean {
  const kind = fieldsOf(fieldsOf(payment_method_details).card).case_type;
  if (kind === 'block' || kind === 'resolution') return kind === 'resolution';
  const amounts = Array.isArray(balance_transactions) ? balance_transactions.map((each) => fieldsOf(each).amount) : [];
  return amounts.reduce((sum: number, cents) => sum + (typeof cents === 'number' ? cents : 0), 0) < 0;
}

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});
/** Ids, reasons and statuses; none of Stripe's is longer. */
const isText = (value: unknown): value is string => typeof value === 'string' && /^[\w-]{1,255}$/.test(value);
const isCents = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 0;
/** The id of a part, which may stand there whole. */
const idOf = (part: unknown): string | null => {
  const id = typeof part === 'string' ? part : fieldsOf(part).id;
  return isText(id) ? id : null;
};
