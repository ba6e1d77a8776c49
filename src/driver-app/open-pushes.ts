import { PUSH_TIMEOUT_MS } from '../limits.ts';
import type { ServiceParts } from '../runtime/parts.ts';
import { errorFields } from '../telemetry.ts';
import { createWebhookClient } from '../vendors/webhook-client.ts';
import { createPushSender, newPushKeys, pushSubject } from './push-sender.ts';
import { createPushes, type Pushes } from './pushes.ts';

/**
 * Opens what rings drivers' phones, with the keys that the first process of all made.
 *
 * @returns with the public key, for which phones ask
 */
export async function openPushes(
  parts: Pick<ServiceParts, 'config' | 'store' | 'metrics' | 'logger' | 'closers'>,
): Promise<Pushes & { readonly publicKey: string }> {
  const { config, store, metrics, logger, closers } = parts;
  const keys = await store.keepPushKeys(newPushKeys());
  const client = createWebhookClient({ sandbox: config.sandbox, timeoutMs: PUSH_TIMEOUT_MS });
  const pushes = createPushes({
    store,
    send: createPushSender({ client, keys, subject: pushSubject(config) }),
    observe: metrics.observePush,
    failed: (error) => logger.warn({ err: errorFields(error) }, 'phones could not be looked up for a push'),
  });
  closers.add('pushes', () => {
    pushes.close();
    client.close();
  });
  return { ...pushes, publicKey: keys.publicKey };
}
