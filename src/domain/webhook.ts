import { MAX_WEBHOOKS_SET } from '../limits.ts';

/** Who is told by a webhook, and may change it: a store, or an organization of stores. */
export type WebhookOwner = { readonly kind: 'store' | 'organization'; readonly id: string };

/** The statuses of a delivery. */
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** Why deliveries wait behind a receiver: it fails or is disabled; or more comes than it takes. */
export const WAITING_REASONS = ['failing', 'slow'] as const;
export type WaitingReason = (typeof WAITING_REASONS)[number];

/** In a filter: all types, those of later versions included. */
export const EVERY_EVENT_TYPE = '*';

/** Said where an owner may not have another webhook. */
export const TOO_MANY_WEBHOOKS = `There are ${MAX_WEBHOOKS_SET} webhooks already.`;

/** The type of the event that tests a webhook. It needs no filter. */
export const WEBHOOK_TEST_TYPE = 'webhook.test';

/** What a delivery came to, as its store may know it: an HTTP status, or a word for why there was none. */
const WORDS: Readonly<Record<string, string>> = {
  timeout: 'timeout',
  tls_failed: 'tls_failed',
  bad_reply: 'bad_reply',
  no_endpoint: 'no_endpoint',
  too_slow: 'too_slow',
};

/**
 * A result of a delivery in the words for stores. What would say which addresses and names exist in the
 * operator's own network is one word, whatever happened there.
 *
 * @param result an HTTP status, or a word of the webhook client or of the job
 */
export function resultForStore(result: string): string {
  return Number(result) > 0 ? result : (WORDS[result] ?? 'unreachable');
}
