import { isId } from '../domain/ids.ts';
import { below, JOB_ATTEMPTS, JOB_BACKOFF_MS } from '../limits.ts';
import type { Relay } from '../queues/relay.ts';
import type { ChangedOrder } from '../store/orders/changes.ts';
import type { StripeRefund } from '../store/payments/stripe-callbacks.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../telemetry.ts';
import { recordingFound } from './found-payment.ts';
import type { PaidOrder, StripeAccount } from './stripe-account.ts';
import type { StripeEvent, StripeNews } from './stripe-events.ts';

/**
 * Age of a charge in seconds from which a failure that Stripe tells of makes its job ask at once. A younger one
 * is asked soon anyway. Below the time after which its JOB_ATTEMPTS are used up and it waits for its lease.
 */
const LATE_CHARGE_SECONDS = 60;

below(
  { LATE_CHARGE_SECONDS },
  { 'pauses between JOB_ATTEMPTS in s': (JOB_BACKOFF_MS * (2 ** (JOB_ATTEMPTS - 1) - 1)) / 1_000 },
);

/**
 * What became of a callback. `unchanged`: it was known. `unknown`: of no order or store of ours. `ignored`: a
 * type that is not taken. `wrong_mode`: of Stripe's test mode while the key is live, or the reverse.
 * `conflict`: it contradicts what is recorded, which stays. `later`: Stripe could not be asked.
 */
export const CALLBACK_OUTCOMES = [
  'done',
  'unchanged',
  'unknown',
  'ignored',
  'wrong_mode',
  'conflict',
  'later',
] as const;
export type CallbackOutcome = (typeof CALLBACK_OUTCOMES)[number];

export type StripeCallbacks = {
  /** Takes a verified event. It is safe to take twice, and in any order with others. */
  take(event: StripeEvent): Promise<CallbackOutcome>;
};

type News<Kind extends StripeNews['kind']> = Extract<StripeNews, { kind: Kind }>;

/**
 * Takes what Stripe tells of by itself. The jobs find out the same without it, but for what was done in
 * Stripe's dashboard and on its pages.
 *
 * @param parts.live whether the key is for real money
 */
export function createStripeCallbacks(parts: {
  readonly store: Pick<
    Store,
    | 'setCardOf'
    | 'removeCard'
    | 'findPayment'
    | 'recordLatePaid'
    | 'askAgain'
    | 'noteStripeRefund'
    | 'settleStripeRefunds'
    | 'noteDispute'
  >;
  readonly stripe: Pick<StripeAccount, 'findCard' | 'findOrder' | 'listRefunds'>;
  readonly relay: Pick<Relay, 'relay'>;
  readonly live: boolean;
  readonly logger: Logger;
}): StripeCallbacks {
  const { store, stripe, logger } = parts;
  const recordFound = recordingFound(parts);

  function act(news: StripeNews, createdAt: Date): Promise<CallbackOutcome> {
    switch (news.kind) {
      case 'card_given':
        return giveCard(news, createdAt);
      case 'card_removed':
        return store.removeCard(news.paymentMethodId).then(toOutcome);
      case 'charge_paid':
        return chargePaid(news);
      case 'charge_failed':
        return chargeFailed(news);
      case 'refund':
        return ofPayment(news.paymentIntentId, (order) => refund(order, news.paymentIntentId, [news.refund]));
      case 'refunded':
        return refunded(news);
      case 'dispute':
        return ofPayment(news.paymentIntentId, (order) => dispute(order, news, createdAt));
    }
  }

  /** Stripe is asked for the card, since the event names only how it was given. */
  async function giveCard({ retailerId, setupIntentId }: News<'card_given'>, at: Date): Promise<CallbackOutcome> {
    if (!isId(retailerId)) return 'unknown';
    const card = await stripe.findCard(setupIntentId);
    if (card.kind === 'retry_later') return 'later';
    return card.kind === 'none' ? 'unknown' : toOutcome(await store.setCardOf(retailerId, card, at));
  }

  const chargePaid = async (charge: News<'charge_paid'>): Promise<CallbackOutcome> =>
    isId(charge.orderId) ? recordFound(charge) : 'unknown';

  /** Which attempt failed only its key tells, under which the job asks. */
  async function chargeFailed({ orderId }: News<'charge_failed'>): Promise<CallbackOutcome> {
    const known = isId(orderId) ? await store.findPayment(orderId) : null;
    if (!known) return 'unknown';
    if (known.paymentStatus !== 'processing') return 'unchanged';
    return toOutcome(await store.askAgain(orderId, LATE_CHARGE_SECONDS));
  }

  async function refunded({ orderId, paymentIntentId, refundedCents }: News<'refunded'>): Promise<CallbackOutcome> {
    const known = isId(orderId) ? await store.findPayment(orderId) : null;
    if (!known) return 'unknown';
    if (known.paymentStatus === 'refunded' || known.refundedCents >= refundedCents) return 'unchanged';
    const listed = await stripe.listRefunds(paymentIntentId);
    if (listed.kind === 'retry_later') return 'later';
    return ofPayment(paymentIntentId, (order) => refund(order, paymentIntentId, listed.refunds));
  }

  /**
   * A payment that was refunded had been paid, whether or not its own result has come. That of a second payment is
   * what its line in the log asked for, and is none of the order's.
   */
  async function refund(
    { orderId, amountCents }: PaidOrder,
    paymentIntentId: string,
    refunds: readonly StripeRefund[],
  ): Promise<CallbackOutcome> {
    const known = await store.findPayment(orderId);
    if (known && known.chargeId !== null && known.chargeId !== paymentIntentId) return 'conflict';
    const paid = await chargePaid({ kind: 'charge_paid', orderId, paymentIntentId, amountCents });
    if (paid === 'unknown' || paid === 'conflict') return paid;
    let isNew = paid === 'done';
    for (const each of refunds) {
      const isNoted = relayed(await store.noteStripeRefund(orderId, each));
      isNew ||= isNoted;
      if (each.status === 'failed' && isNoted) {
        logger.error({ orderId, code: 'failed_later' }, 'a refund was refused: the store is still charged');
      }
    }
    return toOutcome(relayed(await store.settleStripeRefunds(orderId)) || isNew);
  }

  async function dispute({ orderId }: PaidOrder, news: News<'dispute'>, toldAt: Date): Promise<CallbackOutcome> {
    const isNew = relayed(await store.noteDispute(orderId, news, toldAt));
    if (isNew && news.status === 'open') {
      logger.warn({ orderId, code: news.reason }, 'a payment was disputed: the payout of its order is held');
    }
    return toOutcome(isNew);
  }

  /** The order of a payment, which only Stripe can name. */
  async function ofPayment(
    paymentIntentId: string,
    work: (order: PaidOrder) => Promise<CallbackOutcome>,
  ): Promise<CallbackOutcome> {
    const found = await stripe.findOrder(paymentIntentId);
    if (found.kind === 'retry_later') return 'later';
    return found.order && isId(found.order.orderId) ? work(found.order) : 'unknown';
  }

  /** Relays the jobs of a change; whether there was one. */
  function relayed(changed: ChangedOrder | null): boolean {
    if (changed) parts.relay.relay(changed.outbox);
    return changed !== null;
  }

  return {
    async take({ type, live, createdAt, news }) {
      if (type === 'other') return 'ignored';
      if (live !== parts.live) return 'wrong_mode';
      return news === null ? 'unknown' : act(news, createdAt);
    },
  };
}

const toOutcome = (isNew: boolean): CallbackOutcome => (isNew ? 'done' : 'unchanged');
