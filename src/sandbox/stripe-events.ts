import { createHmac, randomBytes } from 'node:crypto';
import { below, REQUEST_DEADLINE_MS } from '../limits.ts';
import type { CallCounts } from './stand-in.ts';

/** Most events that the stand-in keeps until they are taken; further ones are dropped. */
const MAX_STAND_IN_EVENTS = 10_000;
/** Deliveries of events that the stand-in makes at once. */
const STAND_IN_EVENTS_AT_ONCE = 8;
/** Tries of an event before the stand-in gives it up. */
export const STAND_IN_EVENT_TRIES = 12;
/** Pause of the stand-in after the first failed try of an event; each further one is twice as long. */
const STAND_IN_EVENT_BACKOFF_MS = 50;
/** Longest wait of the stand-in for the answer to an event. Above REQUEST_DEADLINE_MS. */
const STAND_IN_EVENT_TIMEOUT_MS = 20_000;

below({ REQUEST_DEADLINE_MS }, { STAND_IN_EVENT_TIMEOUT_MS });

/** Where the stand-in sends its events, and how. */
export type EventTarget = {
  /** Asked for each try, since a service may come back elsewhere. */
  readonly url: () => string;
  /** Signs the events: `whsec_…`. */
  readonly secret: string;
  /** Also sends what the reply to a request has told; false by default. */
  readonly all?: boolean;
  /** How often an event is delivered; once by default. */
  readonly copies?: () => number;
  /** Pause before each delivery in milliseconds; none by default. */
  readonly delayMs?: () => number;
};

type Delivery = { readonly payload: string; readonly triesLeft: number; readonly pauseMs: number };

/**
 * Sends events as Stripe does: signed at each try, and again after a growing pause where the answer is not a
 * 2xx. Nothing is sent before `sendTo`.
 */
export class StripeEvents {
  #target: EventTarget | null = null;
  readonly #due: Delivery[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #stop = new AbortController();
  #atWork = 0;
  #unanswered = 0;

  sendTo(target: EventTarget): void {
    this.#target = target;
  }

  counts(): CallCounts {
    const [atWork, unanswered] = [this.#atWork, this.#unanswered];
    return { pending: this.#due.length + this.#timers.size + atWork, atWork, unanswered };
  }

  /**
   * @param objectOf what it is about; not asked for where nobody hears of it
   * @param isReplied whether the reply to a request tells the same
   */
  tell(type: string, objectOf: () => object, isReplied = false): void {
    const target = this.#target;
    if (!target || (isReplied && !target.all)) return;
    const payload = JSON.stringify({
      id: `evt_${randomBytes(12).toString('hex')}`,
      object: 'event',
      api_version: '2026-10-28.endive',
      created: Math.floor(Date.now() / 1_000),
      livemode: false,
      pending_webhooks: 1,
      request: { id: null, idempotency_key: null },
      type,
      data: { object: objectOf() },
    });
    for (let left = target.copies?.() ?? 1; left > 0; left--) {
      this.#later(target.delayMs?.() ?? 0, {
        payload,
        triesLeft: STAND_IN_EVENT_TRIES,
        pauseMs: STAND_IN_EVENT_BACKOFF_MS,
      });
    }
  }

  /** Gives up what is not delivered. */
  close(): void {
    this.#target = null;
    this.#due.length = 0;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#stop.abort();
  }

  #later(ms: number, delivery: Delivery): void {
    if (this.counts().pending >= MAX_STAND_IN_EVENTS) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#due.push(delivery);
      this.#next();
    }, ms);
    timer.unref();
    this.#timers.add(timer);
  }

  #next(): void {
    while (this.#atWork < STAND_IN_EVENTS_AT_ONCE) {
      const delivery = this.#due.shift();
      if (!delivery) return;
      this.#atWork++;
      void this.#deliver(delivery).finally(() => {
        this.#atWork--;
        this.#next();
      });
    }
  }

  async #deliver({ payload, triesLeft, pauseMs }: Delivery): Promise<void> {
    const target = this.#target;
    if (!target || (await this.#isTaken(target, payload)) || triesLeft <= 1 || !this.#target) return;
    this.#later(pauseMs, { payload, triesLeft: triesLeft - 1, pauseMs: 2 * pauseMs });
  }

  async #isTaken({ url, secret }: EventTarget, payload: string): Promise<boolean> {
    try {
      const reply = await fetch(url(), {
        method: 'POST',
        headers: { 'Content-Type': 'application/json; charset=utf-8', 'Stripe-Signature': sign(payload, secret) },
        body: payload,
        signal: AbortSignal.any([this.#stop.signal, AbortSignal.timeout(STAND_IN_EVENT_TIMEOUT_MS)]),
      });
      await reply.arrayBuffer();
      return reply.ok;
    } catch {
      this.#unanswered++;
      return false;
    }
  }
}

/** The `Stripe-Signature` header of a payload sent now. */
export function sign(payload: string, secret: string, seconds = Math.floor(Date.now() / 1_000)): string {
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${payload}`).digest('hex')}`;
}
