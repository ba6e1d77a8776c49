import { parseJson, type StandInReply, type StandInRequest } from './stand-in.ts';
import {
  cardAnswer,
  chargeBody,
  type Dispute,
  type DisputeStatus,
  disputeBody,
  type Marks,
  type Payment,
  paymentIntentBody,
  paymentMethodBody,
  type Refund,
  refundBody,
  refundStatus,
  sumOf,
  UNMARKED,
} from './stripe-objects.ts';
import type { StripeRecords } from './stripe-records.ts';

export type Dashboard = ReturnType<typeof createDashboard>;

/** A bank may decide anew what was won or lost. */
const DISPUTED = ['needs_response', 'appeal_under_review', 'won', 'lost'] as const;

/**
 * What people and banks do at Stripe. Each tells the service by events.
 *
 * @throws {RangeError} in each method, for what does not exist or cannot be done
 */
export function createDashboard(records: StripeRecords) {
  const { events } = records;

  function payment(id: string): Payment {
    return records.find('payment', id) ?? fail(`no payment ${id}`);
  }

  function open(paymentIntent: string, status: DisputeStatus): Dispute {
    const { amount, answer } = payment(paymentIntent);
    if (answer.kind !== 'paid') fail('nothing to dispute');
    const dispute = records.write({
      type: 'dispute',
      id: records.newId('du'),
      ...UNMARKED,
      paymentIntent,
      amount,
      status,
      created: records.seconds(),
    });
    events.tell('charge.dispute.created', () => disputeBody(dispute));
    return dispute;
  }

  function change(id: string, from: readonly DisputeStatus[], status: DisputeStatus, event: string): Dispute {
    const dispute = records.find('dispute', id) ?? fail(`no dispute ${id}`);
    if (!from.includes(dispute.status)) fail(`it is ${dispute.status}`);
    const changed = records.write({ ...dispute, status });
    events.tell(event, () => disputeBody(changed));
    return changed;
  }

  return {
    /** Gives back `amountCents` of a payment, what is left of it by default. */
    refund(paymentIntent: string, amountCents?: number): Refund {
      const paid = payment(paymentIntent);
      const left = paid.amount - sumOf(records.refundsOf(paymentIntent));
      const amount = amountCents ?? left;
      if (paid.answer.kind !== 'paid' || amount < 1 || amount > left) fail('nothing to refund');
      return giveBack(records, paid, amount, UNMARKED, false);
    },
    /** The bank sends a refund back. */
    failRefund(id: string): Refund {
      const refund = records.find('refund', id) ?? fail(`no refund ${id}`);
      const failed = records.write({ ...refund, status: 'failed' });
      events.tell('refund.updated', () => refundBody(failed));
      events.tell('refund.failed', () => refundBody(failed));
      return failed;
    },
    /** A refund that was pending succeeds. */
    settleRefund(id: string): Refund {
      const refund = records.find('refund', id) ?? fail(`no refund ${id}`);
      if (refund.status !== 'pending') fail('it is not pending');
      const { status: _, ...settled } = refund;
      records.write(settled);
      events.tell('refund.updated', () => refundBody(settled));
      return settled;
    },
    dispute: (paymentIntent: string) => open(paymentIntent, 'needs_response'),
    /** The bank asks before it disputes. */
    inquire: (paymentIntent: string) => open(paymentIntent, 'warning_needs_response'),
    /** An inquiry becomes a dispute. */
    escalate: (id: string) => change(id, ['warning_needs_response'], 'needs_response', 'charge.dispute.updated'),
    /** `warning_closed` ends an inquiry. */
    closeDispute(id: string, outcome: 'won' | 'lost' | 'warning_closed'): Dispute {
      const from = outcome === 'warning_closed' ? ['warning_needs_response' as const] : DISPUTED;
      return change(id, from, outcome, 'charge.dispute.closed');
    },
    /** Contests a loss. */
    appeal: (id: string) => change(id, ['lost'], 'appeal_under_review', 'charge.dispute.updated'),
    /** Ends a payment that is `processing`, or that was left open. */
    settle(paymentIntent: string, outcome: 'paid' | 'declined'): Payment {
      const before = payment(paymentIntent);
      if (!['processing', 'unfinished'].includes(before.answer.kind)) fail('it is not processing');
      const answer = outcome === 'paid' ? ({ kind: 'paid' } as const) : cardAnswer('pm_card_declined', () => false);
      const after = records.write({ ...before, answer: answer ?? before.answer });
      tellOfPayment(records, after, false);
      return after;
    },
    /** Takes a card off its customer. */
    detach(paymentMethod: string): void {
      records.write({ type: 'detached', id: paymentMethod, ...UNMARKED });
      events.tell('payment_method.detached', () => paymentMethodBody(paymentMethod, null));
    },
  };
}

/** @param isReplied whether the service was told by the reply to its request */
export function tellOfPayment({ events }: StripeRecords, payment: Payment, isReplied: boolean): void {
  const { kind } = payment.answer;
  if (kind === 'paid') events.tell('payment_intent.succeeded', () => paymentIntentBody(payment), isReplied);
  else if (kind === 'declined')
    events.tell('payment_intent.payment_failed', () => paymentIntentBody(payment), isReplied);
}

/** Refunds this much of a payment, and tells of it as `tellOfPayment` does. */
export function giveBack(records: StripeRecords, paid: Payment, amount: number, marks: Marks, isReplied: boolean) {
  const { events } = records;
  const refund: Refund = records.write({
    type: 'refund',
    id: records.newId('re'),
    ...marks,
    paymentIntent: paid.id,
    customer: paid.customer,
    amount,
    ...refundStatus(paid.paymentMethod),
    created: records.seconds(),
  });
  events.tell('refund.created', () => refundBody(refund), isReplied);
  events.tell('charge.refunded', () => chargeBody(paid, records.refundsOf(paid.id)), isReplied);
  return refund;
}

/**
 * The same over HTTP, as `POST /_control/…` with JSON: `refund` {payment_intent, amount}, `fail_refund` {id},
 * `settle_refund` {id}, `dispute` and `inquire` {payment_intent}, `escalate` and `appeal` {id}, `close_dispute`
 * {id, outcome}, `settle` {payment_intent, outcome}, `detach` {payment_method}. Null for another address.
 */
export function controlDashboard(dashboard: Dashboard, { method, path, body }: StandInRequest): StandInReply | null {
  if (method !== 'POST') return null;
  const value = parseJson(body);
  const fields = (typeof value === 'object' && value !== null ? value : {}) as Fields;
  const act = ACTIONS.get(path.slice('/_control/'.length));
  if (!act) return null;
  try {
    return { status: 200, body: act(dashboard, fields) ?? {} };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { status: 400, body: { message: error.message } };
  }
}

type Fields = Readonly<Record<string, unknown>>;
const textOf = (fields: Fields, name: string): string => {
  const value = fields[name];
  return typeof value === 'string' ? value : fail(`${name} is missing`);
};
const outcomeOf = <Outcome extends string>(fields: Fields, outcomes: readonly Outcome[]): Outcome =>
  outcomes.find((each) => each === fields.outcome) ?? fail(`outcome is one of ${outcomes.join(', ')}`);

const amountOf = ({ amount }: Fields): number | undefined => (typeof amount === 'number' ? amount : undefined);

const ACTIONS = new Map<string, (dashboard: Dashboard, fields: Fields) => unknown>([
  ['refund', (dashboard, fields) => dashboard.refund(textOf(fields, 'payment_intent'), amountOf(fields))],
  ['fail_refund', (dashboard, fields) => dashboard.failRefund(textOf(fields, 'id'))],
  ['settle_refund', (dashboard, fields) => dashboard.settleRefund(textOf(fields, 'id'))],
  ['inquire', (dashboard, fields) => dashboard.inquire(textOf(fields, 'payment_intent'))],
  ['escalate', (dashboard, fields) => dashboard.escalate(textOf(fields, 'id'))],
  ['appeal', (dashboard, fields) => dashboard.appeal(textOf(fields, 'id'))],
  ['dispute', (dashboard, fields) => dashboard.dispute(textOf(fields, 'payment_intent'))],
  ['close_dispute', (dashboard, fields) => dashboard.closeDispute(textOf(fields, 'id'), outcomeOf(fields, CLOSED))],
  ['settle', (dashboard, fields) => dashboard.settle(textOf(fields, 'payment_intent'), outcomeOf(fields, SETTLED))],
  ['detach', (dashboard, fields) => dashboard.detach(textOf(fields, 'payment_method'))],
]);
const CLOSED = ['won', 'lost', 'warning_closed'] as const;
const SETTLED = ['paid', 'declined'] as const;

function fail(message: string): never {
  throw new RangeError(message);
}
