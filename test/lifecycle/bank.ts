import type {
  CancelOutcome,
  ChargeLookup,
  ChargeOutcome,
  ChargeRequest,
  RefundOutcome,
} from '../../src/payments/charger.ts';

/** The result of a request to charge or refund. A `lost` one has its effect, but no answer. */
export type Answer = 'paid' | 'soft' | 'hard' | 'needs_auth' | 'unreached' | 'lost' | 'busy';

type Attempt = { readonly orderId: string; readonly id: string; readonly outcome: ChargeOutcome };
export type Pause = (what: string) => Promise<void>;

/**
 * Stripe as the sandbox's stand-in simulates it, without HTTP. A key gets its first answer again, and "in
 * progress" until then. A payment is refunded once. A search finds the charges of an order.
 */
export class Bank {
  readonly charges: Attempt[] = [];
  readonly refunds: { readonly id: string; readonly paymentIntentId: string }[] = [];
  /** The results of the next requests; later ones are paid. */
  readonly answers: Answer[];
  readonly #keys = new Map<string, ChargeOutcome | RefundOutcome>();
  readonly #busy = new Set<string>();
  #pause: Pause;

  constructor(answers: readonly Answer[], pause: Pause) {
    this.answers = [...answers];
    this.#pause = pause;
  }

  /** As a day later, when Stripe forgets its keys. */
  forgetKeys(): void {
    this.#keys.clear();
  }

  /** Pays at once from now on, and ends requests that were cut off. */
  recover(): void {
    this.answers.length = 0;
    this.#busy.clear();
    this.#pause = async () => undefined;
  }

  paid(): Attempt[] {
    return this.charges.filter(({ outcome }) => outcome.kind === 'paid');
  }

  charge = (request: ChargeRequest): Promise<ChargeOutcome> =>
    this.#under(request.idempotencyKey, (answer) => {
      const id = `pi_${this.charges.length}`;
      const outcome = outcomeOf(answer, id);
      this.charges.push({ orderId: request.orderId, id, outcome });
      return outcome;
    });

  refund = (request: { idempotencyKey: string; paymentIntentId: string }): Promise<RefundOutcome> =>
    this.#under<RefundOutcome>(request.idempotencyKey, () => {
      const { paymentIntentId } = request;
      const paid = this.paid().some(({ id }) => id === paymentIntentId);
      if (!paid) return { kind: 'refused', code: 'no_such_charge' };
      const earlier = this.refunds.some((refund) => refund.paymentIntentId === paymentIntentId);
      if (earlier) return { kind: 'refunded', refundId: null };
      const id = `re_${this.refunds.length}`;
      this.refunds.push({ id, paymentIntentId });
      return { kind: 'refunded', refundId: id };
    });

  findRecentCharge = ({ orderId }: { orderId: string }): Promise<ChargeLookup> => this.findCharge(orderId);

  cancel = async (): Promise<CancelOutcome> => ({ kind: 'canceled' });

  findCharge = async (orderId: string): Promise<ChargeLookup> => {
    await this.#pause('search');
    const found = this.charges.filter((charge) => charge.orderId === orderId).reverse();
    const told = found.find(({ outcome }) => outcome.kind === 'paid') ?? found[0];
    return told?.outcome ?? { kind: 'not_found' };
  };

  async #under<Outcome extends ChargeOutcome | RefundOutcome>(
    key: string,
    effect: (answer: Answer) => Outcome,
  ): Promise<Outcome> {
    const unanswered = { kind: 'retry_later', reason: 'timeout', rateLimited: false } as unknown as Outcome;
    await this.#pause(`${key} is sent`);
    const answer = this.answers.shift() ?? 'paid';
    if (answer === 'busy') return { ...unanswered, reason: 'rate_limited', rateLimited: true };
    if (answer === 'unreached' || this.#busy.has(key)) return unanswered;
    this.#busy.add(key);
    await this.#pause(`${key} is worked on`);
    const outcome = (this.#keys.get(key) as Outcome | undefined) ?? effect(answer);
    this.#keys.set(key, outcome);
    this.#busy.delete(key);
    await this.#pause(`${key} is answered`);
    return answer === 'lost' ? unanswered : outcome;
  }
}

function outcomeOf(answer: Answer, paymentIntentId: string): ChargeOutcome {
  switch (answer) {
    case 'soft':
      return { kind: 'declined', code: 'processing_error', retryAfterSeconds: 0 };
    case 'hard':
      return { kind: 'declined', code: 'lost_card', retryAfterSeconds: null };
    case 'needs_auth':
      return { kind: 'declined', code: 'authentication_required', retryAfterSeconds: null };
    default:
      return { kind: 'paid', paymentIntentId };
  }
}
