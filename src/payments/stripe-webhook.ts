import { ServiceError } from '../domain/errors.ts';
import { asAvailable } from '../http/outcomes.ts';
import { json } from '../transport/reply.ts';
import type { RequestHead, Route } from '../transport/route.ts';
import type { CallbackOutcome, StripeCallbacks } from './stripe-callbacks.ts';
import type { StripeSignatures } from './stripe-signature.ts';

/**
 * Largest callback of Stripe in bytes. A dispute carries up to 150,000 characters of evidence, of 6 bytes each
 * where they are escaped. Below MAX_DISCARDED_BODY_BYTES, and so far below MAX_BODY_BYTES_PER_CALLER, which
 * bounds what a network sends with a signature that is only well formed.
 */
export const MAX_STRIPE_EVENT_BYTES = 1_000 * 1024;

const UNSIGNED = 'Stripe’s signature is missing, wrong or too old.';

/**
 * `POST /stripe/webhook`: what Stripe tells of by itself, signed. 200 after what it changes is committed, and
 * where it changes nothing; 401 without a good signature; 503 where it has to come again.
 *
 * @param parts.observe counts each callback by its type and what became of it
 */
export function stripeWebhookRoute(parts: {
  readonly signatures: StripeSignatures;
  readonly callbacks: StripeCallbacks;
  readonly observe: (vendor: 'stripe', type: string, outcome: CallbackOutcome | 'unsigned' | 'failed') => void;
}): Route<string> {
  const { signatures, callbacks, observe } = parts;

  function unsigned(): ServiceError {
    observe('stripe', 'other', 'unsigned');
    return new ServiceError('unauthorized', UNSIGNED);
  }

  return {
    method: 'post',
    pattern: '/stripe/webhook',
    /** A call that cannot be signed is refused before its body is taken. */
    authenticate(head: RequestHead) {
      const header = head.header('stripe-signature');
      if (signatures.mayBe(header)) return header;
      throw unsigned();
    },
    body: { contentTypes: ['application/json'], maxBytes: MAX_STRIPE_EVENT_BYTES },
    async handle({ body, principal: header }) {
      const event = signatures.verify(body, header);
      if (!event) throw unsigned();
      let outcome: CallbackOutcome | 'failed' = 'failed';
      try {
        outcome = await asAvailable(callbacks.take(event));
      } finally {
        observe('stripe', event.type, outcome);
      }
      if (outcome === 'later') throw new ServiceError('unavailable', 'Stripe cannot be asked right now.');
      return json(200, { success: true, outcome });
    },
  };
}
