import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { STRIPE_TIMEOUT_MS, TWILIO_TIMEOUT_MS } from '../limits.ts';
import { startStripeStandIn } from '../sandbox/stripe-stand-in.ts';
import { startTwilioStandIn } from '../sandbox/twilio-stand-in.ts';
import { createStripeCharger, type StripeCharger } from '../vendors/stripe.ts';
import { createTwilioSender, type TwilioSender } from '../vendors/twilio.ts';
import type { Closers } from './closers.ts';

export type Vendors = { readonly stripe: StripeCharger; readonly twilio: TwilioSender };

/** Stripe and Twilio by their settings; what is not set is, in the sandbox, a stand-in that speaks the same HTTP. */
export async function openVendors(config: Config, closers: Closers): Promise<Vendors> {
  return { stripe: await openStripe(config, closers), twilio: await openTwilio(config, closers) };
}

function ledger(config: Config, name: string): string {
  mkdirSync(config.dataDir, { recursive: true });
  return join(config.dataDir, name);
}

async function openStripe(config: Config, closers: Closers): Promise<StripeCharger> {
  if (config.stripe) {
    const { secretKey, apiBase } = config.stripe;
    return createStripeCharger({ secretKey, timeoutMs: STRIPE_TIMEOUT_MS, ...(apiBase ? { apiBase } : {}) });
  }
  const standIn = await startStripeStandIn({ ledgerFile: ledger(config, 'stripe-ledger.jsonl') });
  closers.add('Stripe stand-in', () => standIn.close());
  return createStripeCharger({ secretKey: 'sk_test_sandbox', apiBase: standIn.url, timeoutMs: STRIPE_TIMEOUT_MS });
}

async function openTwilio(config: Config, closers: Closers): Promise<TwilioSender> {
  if (config.twilio) {
    const { accountSid, authToken, from, apiBase } = config.twilio;
    const timeoutMs = TWILIO_TIMEOUT_MS;
    return createTwilioSender({ accountSid, authToken, from, timeoutMs, ...(apiBase ? { apiBase } : {}) });
  }
  const standIn = await startTwilioStandIn({ ledgerFile: ledger(config, 'twilio-ledger.jsonl') });
  closers.add('Twilio stand-in', () => standIn.close());
  return createTwilioSender({
    accountSid: `AC${'0'.repeat(32)}`,
    authToken: 'sandbox',
    from: '+15005550006',
    apiBase: standIn.url,
    timeoutMs: TWILIO_TIMEOUT_MS,
  });
}
