import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { below, REQUEST_DEADLINE_MS } from '../limits.ts';
import { createStripeCallbacks } from '../payments/stripe-callbacks.ts';
import { stripeWebhookRoute } from '../payments/stripe-webhook.ts';
import { limitConcurrency } from '../postgres/batched-reads.ts';
import type { Closers } from '../runtime/closers.ts';
import type { ServiceParts } from '../runtime/parts.ts';
import { watchCallbacks } from '../runtime/vendor-watch.ts';
import { type StripeStandIn, startStripeStandIn } from '../sandbox/stripe-stand-in.ts';
import { openStore } from '../store/store.ts';
import type { Route } from '../transport/route.ts';

/** Callbacks that one process works at; others wait for their turn. Most of the time they wait for Stripe. */
const MAX_CALLBACKS_AT_WORK = 16;
/** Longest look-up at Stripe for a callback. Two are below REQUEST_DEADLINE_MS. */
const STRIPE_LOOK_UP_TIMEOUT_MS = 5_000;

below({ '2 × STRIPE_LOOK_UP_TIMEOUT_MS': 2 * STRIPE_LOOK_UP_TIMEOUT_MS }, { REQUEST_DEADLINE_MS });

/**
 * Adds Stripe's stand-in to a sandbox that works at charges and has no Stripe. The secret that signs its
 * events is made here.
 */
export async function withStripe(
  config: Config,
  closers: Closers,
): Promise<{ readonly config: Config; readonly standIn: StripeStandIn | null }> {
  if (config.stripe || !config.sandbox || !config.roles.has('worker')) return { config, standIn: null };
  const standIn = await startStripeStandIn({ ledgerFile: join(config.dataDir, 'stripe-ledger.jsonl') });
  closers.add('Stripe stand-in', () => standIn.close());
  const webhookSecrets = [`whsec_${randomBytes(24).toString('hex')}`];
  const stripe = { secretKey: 'sk_test_sandbox', apiBase: standIn.url, rate: 0, webhookSecrets };
  return { config: { ...config, stripe }, standIn };
}

/** Has the stand-in send its events to the service at `url`. */
export function tellOfEvents(standIn: StripeStandIn | null, { stripe }: Config, url: string): void {
  const secret = stripe?.webhookSecrets[0];
  if (secret) standIn?.sendEventsTo({ url: () => `${url}/stripe/webhook`, secret });
}

/** The route of Stripe's callbacks; none without STRIPE_WEBHOOK_SECRET. */
export async function openStripeRoutes(
  parts: Pick<ServiceParts, 'config' | 'database' | 'relay' | 'metrics' | 'logger' | 'closers'>,
): Promise<Route[]> {
  const { config, database, relay, logger, closers } = parts;
  if (!config.stripe || config.stripe.webhookSecrets.length === 0) return [];
  // Loaded here, because the SDK costs 150 ms and 22 MB.
  const { createStripeAccount } = await import('../payments/stripe-account.ts');
  const { createStripeSignatures } = await import('../payments/stripe-signature.ts');
  const { secretKey, webhookSecrets } = config.stripe;
  const stripe = createStripeAccount({ ...config.stripe, timeoutMs: STRIPE_LOOK_UP_TIMEOUT_MS });
  closers.add("Stripe's account", () => stripe.close());
  // With another process id, so that this process heeds the notices of what a callback changes too.
  const store = openStore({ ...database, processId: `${database.processId}-callbacks` });
  const live = /^(sk|rk)_live_/.test(secretKey);
  const { take } = createStripeCallbacks({ store, stripe, relay, live, logger });
  const limit = limitConcurrency(MAX_CALLBACKS_AT_WORK);
  const inTurn: typeof take = (event) =>
    new Promise((resolve, reject) => {
      limit.enter(() => take(event).then(resolve, reject));
    });
  const signatures = createStripeSignatures(webhookSecrets);
  return [stripeWebhookRoute({ signatures, callbacks: { take: inTurn }, observe: watchCallbacks(parts) })];
}
