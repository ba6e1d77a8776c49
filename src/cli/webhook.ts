import type { Command } from 'commander';
import { LIST_LIMIT } from '../limits.ts';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../store/webhook-events.ts';
import { readWebhookUrl } from '../vendors/webhook-client.ts';
import { newWebhookSecret } from '../vendors/webhook-signature.ts';
import { CommandError, type Context } from './context.ts';
import { type Act, known, requireId } from './parts.ts';

type SetOptions = { url?: string; on?: boolean; off?: boolean };

/** `retailer set-webhook` */
export function addSetWebhook(retailer: Command, act: Act): void {
  retailer
    .command('set-webhook <retailer_id>')
    .description("set a store's webhook; the signing secret is shown once")
    .option('--url <url>', 'an https URL on the public Internet; creates a new secret')
    .option('--on', 'enable a disabled webhook with its old secret')
    .option('--off', 'remove the webhook')
    .action(
      act(async (context, [id], options: SetOptions) => {
        const retailerId = requireId(id);
        if (Object.keys(options).filter((name) => name !== 'json').length !== 1) {
          throw new CommandError('Give one of --url, --on and --off.');
        }
        if (options.url !== undefined) return setUrl(context, retailerId, options.url);
        const { store } = context;
        const done = await (options.on ? store.enableWebhook(retailerId) : store.removeWebhook(retailerId));
        known(done || null, 'webhook');
        return { retailer_id: retailerId, webhook: options.on ? 'on' : 'off' };
      }),
    );
}

async function setUrl({ store, sandbox }: Context, retailerId: string, text: string) {
  const url = readWebhookUrl(text, sandbox);
  if (typeof url === 'string') throw new CommandError(url);
  const secret = newWebhookSecret();
  known((await store.setWebhook(retailerId, url.href, secret)) || null, 'store');
  return { retailer_id: retailerId, webhook_url: url.href, webhook_secret: secret };
}

const REFUSED = {
  unknown: 'There is no such delivery. Deliveries are kept for 30 days.',
  still_tried: 'That delivery is still being tried.',
  no_endpoint: 'That store has no webhook, or it is disabled: see retailer set-webhook.',
} as const;

/** `webhook list|replay` */
export function addWebhookCommands(program: Command, act: Act): void {
  const webhook = program.command('webhook').description('webhook deliveries');
  webhook
    .command('list')
    .description('list deliveries, newest first')
    .option('--retailer <retailer_id>')
    .option('--status <status>', DELIVERY_STATUSES.join(', '))
    .action(
      act(async ({ store }, _args, { retailer, status }: { retailer?: string; status?: string }) => {
        if (status !== undefined && !DELIVERY_STATUSES.includes(status as DeliveryStatus)) {
          throw new CommandError(`--status is one of ${DELIVERY_STATUSES.join(', ')}.`);
        }
        const retailerId = retailer === undefined ? null : requireId(retailer);
        return store.listDeliveries({ retailerId, status: (status as DeliveryStatus | undefined) ?? null }, LIST_LIMIT);
      }),
    );
  webhook
    .command('replay <delivery_id>')
    .description('send a delivery again, with the same id and body')
    .action(
      act(async ({ store }, [id]) => {
        const outcome = await store.replayDelivery(requireId(id));
        if (outcome !== 'replayed') throw new CommandError(REFUSED[outcome]);
        return { delivery_id: id, status: 'pending' };
      }),
    );
}
