import { timingSafeEqual } from 'node:crypto';
import { MAX_WEBHOOKS_REMEMBERED, WEBHOOK_TOLERANCE_SECONDS } from '../limits.ts';
import { signWebhook } from '../vendors/webhook-signature.ts';
import { type StandIn, type StandInReply, type StandInRequest, startStandIn, type VendorApi } from './stand-in.ts';

/**
 * The demo store's own server: takes webhooks whose signature and time are right, and refuses others with 401. Its
 * ledger (stand-in.ts) shows the last events it took.
 */
export function startWebhookReceiver(secret: string): Promise<StandIn> {
  return startStandIn(new ReceiverApi(secret), 0);
}

class ReceiverApi implements VendorApi {
  readonly #secret: string;
  readonly #events: unknown[] = [];

  constructor(secret: string) {
    this.#secret = secret;
  }

  async answer(request: StandInRequest, pause: () => Promise<void>): Promise<StandInReply> {
    await pause();
    if (request.method !== 'POST') return this.failure(405);
    if (!isAuthentic(this.#secret, request)) return this.failure(401);
    this.#events.push(JSON.parse(request.body));
    if (this.#events.length > MAX_WEBHOOKS_REMEMBERED) this.#events.shift();
    return { status: 200, body: { received: true } };
  }

  failure(status: number): StandInReply {
    return { status, body: { received: false } };
  }

  repeat(): void {}

  entries(): readonly unknown[] {
    return this.#events;
  }

  close(): void {}
}

/** Standard Webhooks 1.0.0: the same text under the same secret, within five minutes of now. */
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
