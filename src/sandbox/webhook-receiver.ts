import { timingSafeEqual } from 'node:crypto';
import { signWebhook } from '../events/webhook-signature.ts';
import { type StandIn, type StandInReply, type StandInRequest, startStandIn, type VendorApi } from './stand-in.ts';

/** Most webhooks that the demo store remembers, the last ones. */
const MAX_WEBHOOKS_REMEMBERED = 100;
/** Largest difference of a webhook's time from its receiver's clock, as Standard Webhooks' libraries have. */
const WEBHOOK_TOLERANCE_SECONDS = 300;

/**
 * Starts the demo store's own server, which accepts webhooks with a valid signature and time and refuses
 * others with 401. Its ledger (stand-in.ts) shows the last events.
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
