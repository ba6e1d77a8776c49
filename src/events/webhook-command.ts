import type { Command } from 'commander';
import { CommandError, type Context } from '../cli/context.ts';
import { Listed, type ListOptions, readNamed, readPageRequest, readSearch, withListOptions } from '../cli/list.ts';
import { type Act, type Confirmed, confirm, known, requireId, withYes } from '../cli/parts.ts';
import { withWatch } from '../cli/watch.ts';
import { STORE_EVENT_TYPES } from '../domain/store-event.ts';
import { DELIVERY_STATUSES, EVERY_EVENT_TYPE, TOO_MANY_WEBHOOKS } from '../domain/webhook.ts';
import { readWebhookUrl } from '../vendors/webhook-client.ts';
import { newWebhookSecret } from './webhook-signature.ts';

/** Receivers behind which deliveries wait that a command lists. */
const RECEIVERS_LISTED = 50;

type SetOptions = Confirmed & { url?: string; on?: boolean; off?: boolean; events?: string };

/** `retailer set-webhook` */
export function addSetWebhook(retailer: Command, act: Act): void {
  withYes(retailer.command('set-webhook <retailer_id>'))
    .description("set a store's webhook; the signing secret is shown once")
    .option('--url <url>', 'an https URL on the public Internet; creates a new secret')
    .option('--on', 'enable a disabled webhook with its old secret')
    .option('--off', 'disable the webhook, which keeps its address and secret')
    .option('--events <types>', 'what it is told of: all, or types with commas between; also beside --url')
    .action(
      act(async (context, [id], options: SetOptions) => {
        const retailerId = requireId(id);
        const { store } = context;
        const { url, on, off } = options;
        const events = options.events === undefined ? undefined : readEventTypes(options.events);
        const chosen = [url, on, off].filter((option) => option !== undefined).length;
        if (chosen > 1 || (events === undefined ? chosen === 0 : on || off)) {
          throw new CommandError('Give one of --url, --on and --off, or --events, alone or beside --url.');
        }
        if (url !== undefined) return setUrl(context, retailerId, { ...options, url }, events);
        const change = events === undefined ? { enabled: on === true } : { eventTypes: events };
        known(await store.changeWebhookOf({ kind: 'store', id: retailerId }, retailerId, change), 'webhook');
        const shown =
          events === undefined ? { webhook: on ? 'on' : 'off' } : { event_types: events ?? [EVERY_EVENT_TYPE] };
        return { retailer_id: retailerId, ...shown };
      }),
    );
}

/** The types that `--events` names; null for all. */
function readEventTypes(text: string): string[] | null {
  if (text === 'all') return null;
  const types = [...new Set(text.split(',').map((type) => type.trim()))];
  if (types.every((type) => STORE_EVENT_TYPES.some((each) => each === type))) return types;
  throw new CommandError(`--events is all, or some of ${STORE_EVENT_TYPES.join(', ')}, with commas between.`);
}

async function setUrl(
  { store, sandbox }: Context,
  retailerId: string,
  options: SetOptions & { readonly url: string },
  events?: string[] | null,
) {
  const url = readWebhookUrl(options.url, sandbox);
  if (typeof url === 'string') throw new CommandError(`--url ${url}.`);
  if (await store.findWebhook({ kind: 'store', id: retailerId }, retailerId)) {
    confirm(options, 'This replaces the address and the secret of the webhook that is there; both end at once.');
  }
  const secret = newWebhookSecret();
  const isSet = known(await store.setWebhook(retailerId, url.href, secret, events), 'store');
  if (!isSet) throw new CommandError(TOO_MANY_WEBHOOKS);
  return { retailer_id: retailerId, webhook_url: url.href, webhook_secret: secret };
}

const REFUSED = {
  unknown: 'There is no such delivery. Deliveries are kept for 30 days.',
  still_tried: 'That delivery is still being tried.',
  no_endpoint: 'Its webhook was removed or is disabled: see webhook endpoints.',
} as const;

/** `webhook endpoints|waiting|list|replay` */
export function addWebhookCommands(program: Command, act: Act): void {
  const webhook = program.command('webhook').description('webhooks and their deliveries');
  webhook
    .command('endpoints <retailer_id>')
    .description("list a store's webhooks: the operator's, and those that were set with its key")
    .action(
      act(async ({ store }, [id]) => {
        const webhooks = await store.listWebhooks({ kind: 'store', id: await requireStore(store, id) });
        return webhooks.map((each) => ({
          webhook_id: each.id,
          url: each.url,
          event_types: each.eventTypes?.join(', ') ?? EVERY_EVENT_TYPE,
          set_by: each.setBy,
          failing_since: each.failingSince,
          webhook_disabled_at: each.disabledAt,
          webhook_disabled_because: each.disabledBecause,
        }));
      }),
    );
  withWatch(webhook.command('waiting'))
    .description('list the receivers behind which deliveries wait, the longest wait first')
    .action(
      act(async ({ store }) => {
        const receivers = await store.readWaitingReceivers(RECEIVERS_LISTED);
        return receivers.map((each) => ({
          webhook_id: each.webhookId,
          owner_id: each.ownerId,
          because: each.because,
          waiting: each.waiting,
          waiting_since: each.since,
          next_try_at: each.nextTryAt,
        }));
      }),
    );
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
          : [await requireStore(context.store, retailer)];
      const orderId = order === undefined ? null : requireId(order);
      return Listed.rows('deliveries', await context.store.listDeliveries({ ...search, retailerIds, orderId }, page));
    }),
  );
  webhook
    .command('replay <delivery_id>')
    .description('send a delivery again, with the same id and body')
    .action(
      act(async ({ store }, [id]) => {
        const deliveryId = requireId(id);
        await replay(store, deliveryId);
        return { delivery_id: deliveryId, status: 'pending' };
      }),
    );
}

/** @throws {CommandError} if the text is no id of a store */
async function requireStore(store: Context['store'], id: string | undefined): Promise<string> {
  const retailerId = requireId(id);
  known((await store.findNamed('retailers', retailerId))[0] ?? null, 'store');
  return retailerId;
}

/** @throws {CommandError} saying why the delivery is not sent again */
export async function replay(store: Context['store'], deliveryId: string): Promise<void> {
  const outcome = await store.replayDelivery(deliveryId);
  if (outcome !== 'replayed') throw new CommandError(REFUSED[outcome]);
}
