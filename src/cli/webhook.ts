import type { Command } from 'commander';
import { DELIVERY_STATUSES } from '../store/webhook-events.ts';
import { readWebhookUrl } from '../vendors/webhook-client.ts';
import { newWebhookSecret } from '../vendors/webhook-signature.ts';
import { CommandError, type Context } from './context.ts';
import { Listed, type ListOptions, readNamed, readPageRequest, readSearch, withListOptions } from './list.ts';
import { type Act, known, requireId } from './parts.ts';

type SetOptions = { url?: string; on?: boolean; off?: boolean };

/** `retailer set-webhook` */
export function addSetWebhook(retailer: Command, act: Act): void {
  retailer
    .command('set-webhook <retailer_id>')
    .description("set a store's webhook; the signing secret is shown once")
    .option('--url <url>', 'an https URL on the public Internet; creates a new secret')
    .option('--on', 'enable a disabled webhook with its old secret')
    .option('--off', 'disable the webhook, which keeps its address and secret')
    .action(
      act(async (context, [id], options: SetOptions) => {
        const retailerId = requireId(id);
        if (Object.keys(options).filter((name) => name !== 'json').length !== 1) {
          throw new CommandError('Give one of --url, --on and --off.');
        }
        if (options.url !== undefined) return setUrl(context, retailerId, options.url);
        const { store } = context;
        const done = await (options.on ? store.enableWebhook(retailerId) : store.disableWebhook(retailerId));
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
  withListOptions(
    webhook
      .command('list')
      .description('list deliveries: given up in the last days, then the newest')
      .option('--retailer <retailer_id>')
      .option('--store <store>', 'id, or a part of the name')
      .option('--order <order_id>'),
    DELIVERY_STATUSES,
    'a part of the event or the result',
  ).action(
    act(async (context, _args, options: ListOptions & { retailer?: string; store?: string; order?: string }) => {
      const search = readSearch(options, DELIVERY_STATUSES);
      const page = readPageRequest(options);
      const { retailer, order } = options;
      if (retailer !== undefined && options.store !== undefined) throw new CommandError('Give --retailer or --store.');
      const retailerIds =
        retailer === undefined
          ? await readNamed(context, 'retailers', '--store', options.store)
          : [requireId(retailer)];
      const orderId = order === undefined ? null : requireId(order);
      return Listed.rows('deliveries', await context.store.listDeliveries({ ...search, retailerIds, orderId }, page));
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
