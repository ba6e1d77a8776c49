import Stripe from 'stripe';
import { readStripeEvent, type StripeEvent } from './stripe-events.ts';

/** Longest `Stripe-Signature` header, in characters. With two secrets at Stripe it has about 160. */
const MAX_SIGNATURE_LENGTH = 1_024;
/** Time in seconds that Stripe's signature is taken, as Stripe advises; a retry is signed anew. */
export const STRIPE_SIGNATURE_SECONDS = 300;

export type StripeSignatures = {
  /** Whether a `Stripe-Signature` header could be one of now; judged before there is a body. */
  mayBe(header: string | undefined): header is string;
  /** The event, if one of the secrets signed these bytes at that time; null otherwise. */
  verify(body: Buffer, header: string): StripeEvent | null;
};

/**
 * Verifies the signatures of Stripe's callbacks by its SDK: HMAC-SHA-256 over the time and the body as it
 * came, at most STRIPE_SIGNATURE_SECONDS ago.
 *
 * @param secrets one, or two while they are exchanged
 * @param nowMs milliseconds since 1970
 */
export function createStripeSignatures(secrets: readonly string[], nowMs: () => number = Date.now): StripeSignatures {
  return {
    mayBe(header): header is string {
      if (header === undefined || header.length > MAX_SIGNATURE_LENGTH) return false;
      const [, seconds] = /^t=(\d{1,12}),/.exec(header) ?? [];
      return seconds !== undefined && Math.abs(nowMs() / 1_000 - Number(seconds)) <= STRIPE_SIGNATURE_SECONDS + 1;
    },
    verify(body, header) {
      for (const secret of secrets) {
        const event = eventOf(body, header, secret, nowMs());
        if (event !== undefined) return readStripeEvent(event);
      }
      return null;
    },
  };
}

function eventOf(body: Buffer, header: string, secret: string, nowMs: number): unknown {
  try {
    return Stripe.webhooks.constructEvent(body, header, secret, STRIPE_SIGNATURE_SECONDS, undefined, nowMs);
  } catch {
    // A wrong signature, or signed bytes that are no event of this kind.
    return undefined;
  }
}
