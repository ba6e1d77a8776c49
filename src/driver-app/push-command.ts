import type { Context } from '../cli/context.ts';
import { PUSH_TIMEOUT_MS } from '../limits.ts';
import type { ChangedOrder } from '../store/orders/changes.ts';

/**
 * Tells the phones of a driver that the operator took an order from them. The order is changed, whatever
 * becomes of that; the services hear of it from the database, and none of them pushes.
 */
export async function tellDriver({ store, config, sandbox }: Context, changed: ChangedOrder | null): Promise<void> {
  const driverId = changed?.driverId;
  if (!driverId) return;
  try {
    const phones = (await store.findPushSubscriptions([driverId])).get(driverId) ?? [];
    if (phones.length === 0) return;
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
