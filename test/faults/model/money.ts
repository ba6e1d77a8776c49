import type { OrderStatus, PaymentStatus } from '../../../src/domain/order.ts';
import { DEFAULT_UNPAID_ORDERS_ALLOWED, MAX_PAYMENT_ATTEMPTS } from '../../../src/limits.ts';
import type { BankAnswer } from './commands.ts';

type Attempt = { state: 'sending' | 'paid' | 'declined'; bank: 'done' | 'soft' | 'hard' | null };
/** The result of a job and its event. */
type Ran = { readonly kind: 'done' | 'retry' | 'no_job'; readonly event?: string };

/** A model of what one order owes, paid and got back, by the README. */
export class Money {
  status: PaymentStatus = 'not_charged';
  readonly attempts: Attempt[] = [];
  wasOwed = false;
  refundOwed = false;
  /** Whether its charge is over though it counts as under way: it ended first. */
  isJobDone = false;
  #ended = false;
  #refunded = false;
  #refundTold = false;

  /** The order was assigned; the first time makes the charge owed. */
  owe(): void {
    if (!this.wasOwed) this.status = 'processing';
    this.wasOwed = true;
  }

  /** The order ended before its pickup. */
  end(): void {
    this.#ended = true;
    this.refundOwed = this.status === 'processing' || this.status === 'paid';
  }

  /** Whether its fee was charged or is being charged. */
  isCharged(): boolean {
    return this.status === 'processing' || this.status === 'paid';
  }

  /** Whether the bank holds money for it. */
  isHeld(): boolean {
    return this.attempts.some(({ bank }) => bank === 'done') && !this.#refunded;
  }

  charge(bank: BankAnswer, hasEnded: boolean): Ran {
    if (!this.wasOwed) return { kind: 'no_job' };
    const attempt = this.#attempt(hasEnded);
    if (!attempt) {
      this.isJobDone = true;
      return { kind: 'done' };
    }
    if (bank === 'unreached') return { kind: 'retry' };
    // The same key gets the first answer.
    attempt.bank ??= bank === 'lost' ? 'done' : bank;
    if (bank === 'lost') return { kind: 'retry' };
    if (attempt.bank === 'done') {
      attempt.state = 'paid';
      this.status = 'paid';
      return { kind: 'done', event: 'payment_paid' };
    }
    attempt.state = 'declined';
    const isFinal = attempt.bank === 'hard' || this.attempts.length === MAX_PAYMENT_ATTEMPTS;
    if (!isFinal) return { kind: 'retry', event: 'payment_declined' };
    this.status = 'failed';
    return { kind: 'done', event: 'payment_failed' };
  }

  /** The attempt to send: the unanswered one, or a new one where there is something to charge. */
  #attempt(hasEnded: boolean): Attempt | undefined {
    if (this.status !== 'processing') return undefined;
    const last = this.attempts.at(-1);
    if (last?.state === 'sending') return last;
    if (hasEnded || this.attempts.length === MAX_PAYMENT_ATTEMPTS) return undefined;
    const attempt: Attempt = { state: 'sending', bank: null };
    this.attempts.push(attempt);
    return attempt;
  }

  refund(bank: BankAnswer): Ran {
    if (!this.refundOwed || !this.#ended) return { kind: 'no_job' };
    if (this.status === 'processing') return this.#recordUncharged();
    if (this.status !== 'paid') return { kind: 'done' };
    if (bank === 'unreached') return { kind: 'retry' };
    if (bank === 'hard' && !this.#refunded) {
      const isNew = !this.#refundTold;
      this.#refundTold = true;
      return isNew ? { kind: 'done', event: 'refund_failed' } : { kind: 'done' };
    }
    this.#refunded = true;
    if (bank === 'lost') return { kind: 'retry' };
    this.status = 'refunded';
    return { kind: 'done', event: 'refunded' };
  }

  #recordUncharged(): Ran {
    if (this.attempts.at(-1)?.state === 'sending') return { kind: 'retry' };
    this.status = this.attempts.length > 0 ? 'failed' : 'not_charged';
    return { kind: 'done', event: 'not_charged' };
  }
}

type Charged = { readonly id: string; readonly status: OrderStatus; readonly money: Money };

/** Whether an order owes nothing, whatever becomes of its charge. */
export const owesNothing = ({ status }: Pick<Charged, 'status'>): boolean =>
  status === 'cancelled' || status === 'expired';

/** A model of how many orders of a store may have a driver before one of them is paid. */
export class Credit {
  #isUnproven = false;
  readonly #unpaid = new Map<string, Charged>();
  readonly #underWay = new Map<string, Charged>();

  /** The charge of an order failed for good; `all` are the store's orders. */
  fail(failed: Charged, all: readonly Charged[]): void {
    this.#underWay.delete(failed.id);
    if (owesNothing(failed)) return;
    if (!this.#isUnproven) {
      for (const order of all) if (!order.money.isJobDone) this.#underWay.set(order.id, order);
    }
    this.#underWay.delete(failed.id);
    this.#isUnproven = true;
    this.#unpaid.set(failed.id, failed);
  }

  /** An order was paid; whether the store had been unproven. */
  prove(): boolean {
    const wasUnproven = this.#isUnproven;
    this.#isUnproven = false;
    this.#unpaid.clear();
    this.#underWay.clear();
    return wasUnproven;
  }

  /** An order got a driver. */
  give(order: Charged): void {
    if (this.#isUnproven) this.#underWay.set(order.id, order);
  }

  isSpent(): boolean {
    if (!this.#isUnproven) return false;
    const underWay = [...this.#underWay.values()].filter(({ money }) => money.status === 'processing');
    const unpaid = [...this.#unpaid.values()].filter((order) => !owesNothing(order));
    return unpaid.length + underWay.length >= DEFAULT_UNPAID_ORDERS_ALLOWED;
  }
}
