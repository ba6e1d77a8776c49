import webPush from 'web-push';
import type { PushKeys, PushKind, PushSubscription } from '../domain/push.ts';
import type { WebhookClient } from '../vendors/webhook-client.ts';

/** Seconds for which a push waits for a phone without network; a later one rings for an order long gone. */
export const PUSH_TTL_SECONDS = 120;

/**
 * What became of a push. `gone`: the phone is not reached under this address any more, or its keys are none.
 * `refused`: the vendor takes no such push now. `unanswered`: no answer came.
 */
export const PUSH_OUTCOMES = ['sent', 'gone', 'refused', 'unanswered'] as const;
export type PushOutcome = (typeof PUSH_OUTCOMES)[number];

/** Sends one push in one attempt. Never throws. */
export type PushSender = (phone: PushSubscription, kind: PushKind) => Promise<PushOutcome>;

/** New keys; the service makes them once. */
export const newPushKeys = (): PushKeys => webPush.generateVAPIDKeys();

/** Where the vendors of phones write about abuse. They refuse an address that is no https and no e-mail. */
export function pushSubject(of: { readonly baseUrl: string | null; readonly supportEmail: string }): string {
  return of.baseUrl?.startsWith('https:') ? new URL(of.baseUrl).origin : `mailto:${of.supportEmail}`;
}

/**
 * Sends pushes by the Web Push protocol (RFC 8030), encrypted for the phone (RFC 8291) and signed (RFC 8292).
 * The library makes the request, and `client` sends it, as the address comes from a phone.
 *
 * @param parts.subject as `pushSubject` makes it
 */
export function createPushSender(parts: {
  readonly client: Pick<WebhookClient, 'post'>;
  readonly keys: PushKeys;
  readonly subject: string;
}): PushSender {
  const vapidDetails = { subject: parts.subject, ...parts.keys };

  /** Null where the phone's keys are none, such as a point that is not on the curve. */
  function requestOf({ endpoint, p256dh, auth }: PushSubscription, kind: PushKind) {
    try {
      return webPush.generateRequestDetails({ endpoint, keys: { p256dh, auth } }, JSON.stringify({ kind }), {
        vapidDetails,
        TTL: PUSH_TTL_SECONDS,
        urgency: kind === 'given' ? 'high' : 'normal',
        topic: kind,
      });
    } catch {
      return null;
    }
  }

  return async function send(phone, kind) {
    const request = requestOf(phone, kind);
    if (!request) return 'gone';
    const headers = Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), String(value)]);
    const sent = { url: phone.endpoint, headers: Object.fromEntries(headers), body: request.body as Buffer };
    const outcome = await parts.client.post(sent);
    if (outcome.kind !== 'answered') return 'unanswered';
    if (outcome.status >= 200 && outcome.status < 300) return 'sent';
    return outcome.status === 404 || outcome.status === 410 ? 'gone' : 'refused';
  };
}
