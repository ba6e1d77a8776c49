import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js';
import type { CallCounts } from './stand-in.ts';

/** Most calls that the stand-in has yet to make; the oldest is dropped for one more. */
const MAX_STAND_IN_CALLS = 2_000;
/** Interval at which the stand-in makes a call, so that a load test does not become one of callbacks. */
const STAND_IN_CALL_MS = 20;
/** Attempts of a call of the stand-in. Twilio makes at most six. */
const STAND_IN_CALL_ATTEMPTS = 6;
/** First pause after a failed attempt; it doubles. All of them together take 16 s, Twilio's at most 15. */
const STAND_IN_CALL_RETRY_MS = 500;
/** Longest attempt of such a call. */
const STAND_IN_CALL_TIMEOUT_MS = 5_000;

type Call = {
  /** As the caller of the API gave it, and as it is signed. */
  readonly url: string;
  readonly form: Readonly<Record<string, string>>;
  readonly authToken: string;
  /** By `performance.now`. */
  readonly dueMs: number;
  readonly attempts: number;
};

/**
 * Where a call really goes: the address itself, or another one that stands for it; null where it is not made.
 */
export type Reach = (url: string) => string | null;

/** A stand-in calls nobody but this machine. */
export const loopbackOnly: Reach = (url) => {
  const { hostname } = new URL(url);
  return ['127.0.0.1', 'localhost', '[::1]'].includes(hostname) ? url : null;
};

/**
 * The calls that the stand-in for Twilio makes: signed as Twilio signs them, one every STAND_IN_CALL_MS, and
 * again after a failure or a 5xx, STAND_IN_CALL_ATTEMPTS times in all.
 */
export class TwilioCalls {
  #reach: Reach;
  #everyMs = STAND_IN_CALL_MS;
  #unanswered = 0;
  #waiting: Call[] = [];
  #timer: NodeJS.Timeout | undefined;
  #underWay = 0;
  #isClosed = false;

  constructor(reach: Reach) {
    this.#reach = reach;
  }

  order({ reach, everyMs }: { readonly reach?: Reach; readonly everyMs?: number }): void {
    this.#reach = reach ?? this.#reach;
    this.#everyMs = everyMs ?? this.#everyMs;
  }

  counts(): CallCounts {
    const [atWork, unanswered] = [this.#underWay, this.#unanswered];
    return { pending: this.#waiting.length + atWork, atWork, unanswered };
  }

  add(url: string, form: Readonly<Record<string, string>>, authToken: string, afterMs: number): void {
    // The fragment is an order to Twilio.
    const [address = ''] = url.split('#');
    if (URL.canParse(address) && this.#reach(address) !== null) {
      this.#wait({ url: address, form, authToken, dueMs: performance.now() + afterMs, attempts: 0 });
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting = [];
    clearInterval(this.#timer);
  }

  #wait(call: Call): void {
    if (this.#isClosed) return;
    this.#waiting.push(call);
    if (this.#waiting.length > MAX_STAND_IN_CALLS) this.#waiting.shift();
    this.#timer ??= setInterval(() => this.#next(), this.#everyMs).unref();
  }

  #next(): void {
    const nowMs = performance.now();
    const index = this.#waiting.findIndex(({ dueMs }) => dueMs <= nowMs);
    const [call] = index < 0 ? [] : this.#waiting.splice(index, 1);
    if (call) void this.#make(call);
    if (this.#waiting.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #make(call: Call): Promise<void> {
    this.#underWay++;
    const wasTaken = await this.#post(call).catch(() => {
      this.#unanswered++;
      return false;
    });
    this.#underWay--;
    const attempts = call.attempts + 1;
    if (wasTaken || attempts >= STAND_IN_CALL_ATTEMPTS) return;
    this.#wait({ ...call, attempts, dueMs: performance.now() + STAND_IN_CALL_RETRY_MS * 2 ** (attempts - 1) });
  }

  async #post({ url, form, authToken }: Call): Promise<boolean> {
    const response = await fetch(this.#reach(url) ?? url, {
      method: 'POST',
      headers: { 'X-Twilio-Signature': getExpectedTwilioSignature(authToken, url, form) },
      body: new URLSearchParams(form),
      signal: AbortSignal.timeout(STAND_IN_CALL_TIMEOUT_MS),
    });
    await response.arrayBuffer();
    return response.status < 500;
  }
}
