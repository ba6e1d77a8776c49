import type { Command } from 'commander';
import { CommandError, type Context } from '../cli/context.ts';
import { Worded } from '../cli/output.ts';
import { type Act, known, requireId } from '../cli/parts.ts';
import { STRIPE_TIMEOUT_MS } from '../limits.ts';
import type { StripeAccount } from './stripe-account.ts';

/** `retailer card-link` */
export function addCardLink(retailer: Command, act: Act): void {
  retailer
    .command('card-link <retailer_id>')
    .description("print the link of Stripe's page on which a store gives its card; it holds for a day")
    .action(
      act(async (context, [id]) => {
        const retailerId = requireId(id);
        const { baseUrl, ...settings } = settingsOf(context);
        const holder = known(await context.store.findCardHolder(retailerId), 'store');
        // Loading the SDK takes as long as a whole command.
        const { createStripeAccount } = await import('./stripe-account.ts');
        const stripe = createStripeAccount({ ...settings, timeoutMs: STRIPE_TIMEOUT_MS });
        try {
          const customerId = holder.customerId ?? (await makeCustomer(context, stripe, retailerId, holder.name));
          const link = answered(
            await stripe.createCardLink({
              customerId,
              retailerId,
              doneUrl: `${baseUrl}/card/done`,
              cancelledUrl: `${baseUrl}/card/cancelled`,
            }),
          );
          context.output.tell('Whoever opens this link sets the card of the store: send it to the store alone.');
          return new Worded({ retailer_id: retailerId, card_link: link.url, expires_at: link.expiresAt }, link.url);
        } finally {
          stripe.close();
        }
      }),
    );
}

/** By the settings of the service, or of the sandbox that runs on DATA_DIR. */
function settingsOf({ config, sandbox, urls }: Context) {
  const { stripe } = config;
  if (!stripe && sandbox && urls.stripe && urls.api) {
    return { secretKey: 'sk_test_sandbox', apiBase: urls.stripe, baseUrl: config.baseUrl ?? urls.api };
  }
  if (!stripe) {
    throw new CommandError('Set STRIPE_SECRET_KEY as for the service, STRIPE_WEBHOOK_SECRET and BASE_URL.');
  }
  if (stripe.webhookSecrets.length === 0) {
    throw new CommandError('Set STRIPE_WEBHOOK_SECRET, for the service too: else it is not told of the card.');
  }
  const baseUrl = config.baseUrl ?? urls.api;
  if (!baseUrl) throw new CommandError('Set BASE_URL: Stripe leads the store back to it.');
  return { secretKey: stripe.secretKey, apiBase: stripe.apiBase, baseUrl };
}

/** A command that died before it kept the customer gets the same one when it is tried again. */
async function makeCustomer(
  { store }: Context,
  stripe: StripeAccount,
  retailerId: string,
  name: string,
): Promise<string> {
  const idempotencyKey = `${retailerId}:customer`;
  const { customerId } = answered(await stripe.createCustomer({ idempotencyKey, name, retailerId }));
  return known(await store.keepCustomer(retailerId, customerId), 'store');
}

function answered<Answer extends { readonly kind: string }>(
  answer: Answer,
): Exclude<Answer, { readonly kind: 'refused' | 'retry_later' }> {
  const { kind, code, reason } = answer as { kind: string; code?: string; reason?: string };
  if (kind === 'refused') throw new CommandError(`Stripe refused: ${code}.`);
  if (reason === 'misconfigured') throw new CommandError('Stripe refuses STRIPE_SECRET_KEY. Correct it.');
  if (kind === 'retry_later') throw new CommandError(`Stripe did not answer (${reason}). Try again.`);
  return answer as Exclude<Answer, { readonly kind: 'refused' | 'retry_later' }>;
}
