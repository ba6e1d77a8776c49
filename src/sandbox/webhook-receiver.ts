import { timingSafeEqual } from 'node:crypto';
import { signWebhook } from '../events/webhook-signature.ts';
import { type StandIn, type StandInReply, type StandInRequest, startStandIn } from './stand-in.ts';

/** Most webhooks that the demo store remembers, the last ones. */
const MAX_WEBHOOKS_REMEMBERED = 100;
/** Largest difference of a webhook's time from its receiver's clock, as Standard Webhooks' libraries have. */
const WEBHOOK_TOLERANCE_SECONDS = 300;

/**
 * Starts the demo store's own server, which accepts webhooks with a valid signature and time and refuses
 * others with 401. Its ledger (stand-in.ts) shows the last events.
 */
export function startWebhookReceiver(secret: string): Promise<StandIn> {
  const events: unknown[] = [];
  return startStandIn({
    async answer(request, pause) {
      await pause();
      if (request.method !== 'POST') return failure(405);
      if (!isAuthentic(secret, request)) return failure(401);
      events.push(JSON.parse(request.body));
      if (events.length > MAX_WEBHOOKS_REMEMBERED) events.shift();
      return { status: 200, body: { received: true } };
    },
    failure,
    entries: () => events,
  });
}

const failure = (status: number): StandInReply => ({ status, body: { received: false } });

/**
 * Checks a webhook by Standard Webhooks 1.0.0: signed with the same secret, and within five minutes of now.
 */
function isAuthentic(secret: string, { headers, body }: StandInRequest): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
  const seconds = Number(timestamp);
  if (typeof id !== 'string' || typeof signatures !== 'string') return false;
  if (!(Math.abs(Date.now() / 1000 - seconds) <= WEBHOOK_TOLERANCE_SECONDS)) return false;
  const expected = Buffer.from(signWebhook(secret, id, seconds * 1000, body)['webhook-signature'] ?? '');
  return signatures.split(' ').some((signature) => {
    const given = Buffer.from(signature);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
