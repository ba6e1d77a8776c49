import type { Context } from '../cli/context.ts';
import type { PushSubscription } from '../domain/push.ts';
import { PUSH_TIMEOUT_MS } from '../limits.ts';
import type { ChangedOrder } from '../store/orders/changes.ts';

/**
 * Tells the phones of a driver that the operator took an order from them. The order is changed, whatever
 * becomes of that; the services hear of it from the database, and none of them pushes.
 */
export async function tellDriver(context: Context, { driverId }: ChangedOrder): Promise<void> {
  if (driverId) await tellPhones(context, await findPhones(context, driverId));
}

type Phones = readonly PushSubscription[];

/** The phones that `tellPhones` tells. Those of a driver who is deactivated are found before that alone. */
export async function findPhones({ store }: Context, driverId: string): Promise<Phones> {
  try {
    return (await store.findPushSubscriptions([driverId])).get(driverId) ?? [];
  } catch {
    // As in tellPhones.
    return [];
  }
}

/** Tells these phones as `tellDriver` does. */
export async function tellPhones({ store, config, sandbox }: Context, phones: Phones): Promise<void> {
  if (phones.length === 0) return;
  try {
    // Loading these takes as long as a whole command.
    const { createPushSender, newPushKeys, pushSubject } = await import('./push-sender.ts');
    const { createWebhookClient } = await import('../vendors/webhook-client.ts');
    const keys = await store.keepPushKeys(newPushKeys());
    const client = createWebhookClient({ sandbox, timeoutMs: PUSH_TIMEOUT_MS });
    const send = createPushSender({ client, keys, subject: pushSubject(config) });
    await Promise.all(phones.map((phone) => send(phone, 'taken')));
  } catch {
    // The phone sees it when the page is opened.
  }
}
