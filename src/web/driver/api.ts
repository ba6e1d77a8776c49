import { PHOTO_DEADLINE_MS } from '../../limits.ts';
import { learnClock } from './clock.ts';
import type { Sent } from './lane.ts';
import { meaningOf } from './queue.ts';
import { ask } from './request.ts';
import type { Action, Day, ToldState } from './state.ts';

/** Longest request without a photo. */
const REQUEST_MS = 10_000;
/**
 * Time after which an upload that breaks off was too slow: the service's transport ends one below 16 KB/s within 8
 * to 12 s. One that breaks off sooner found no network.
 */
const SLOW_UPLOAD_MS = 5_000;

export type Answer<Value> =
  | { readonly kind: 'ok'; readonly value: Value }
  | { readonly kind: 'signed_out' }
  /** The service will not take it, however often it is asked. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'failed' };

/** The duty that a driver wants; `until` says when it ends, ISO 8601, or null for whenever they say so. */
export type Duty = { readonly onDuty: boolean; readonly until: string | null };

/** A position as the service takes it. */
export type Report = {
  readonly lat: number;
  readonly lng: number;
  readonly accuracy_m: number;
  readonly captured_at?: string;
};

type Reply = { readonly status: number; readonly body: unknown; readonly retryAfterSeconds: number | null };

/** The service over HTTP, as one driver. No method throws; a failure is a value. */
export class DriverApi {
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  async state(): Promise<Answer<ToldState>> {
    return answer<ToldState>(await this.#ask('GET', '/driver/orders', null, REQUEST_MS));
  }

  async setDuty({ onDuty, until }: Duty): Promise<Answer<unknown>> {
    const body = { on_duty: onDuty, ...(until === null ? {} : { until }) };
    return answer(await this.#ask('PUT', '/driver/duty', JSON.stringify(body), REQUEST_MS));
  }

  /** What the driver did today, by the phone's clock. */
  async day(): Promise<Answer<{ readonly day: Day }>> {
    // The browser counts the minutes that UTC is ahead of the phone.
    const query = new URLSearchParams({ utc_offset_minutes: String(-new Date().getTimezoneOffset()) });
    return answer<{ readonly day: Day }>(await this.#ask('GET', `/driver/day?${query}`, null, REQUEST_MS));
  }

  /** Reports a position; true where the service has it. */
  async report(report: Report): Promise<boolean> {
    return answer(await this.#ask('POST', '/driver/location', JSON.stringify(report), REQUEST_MS)).kind === 'ok';
  }

  async act(action: Action, signal: AbortSignal): Promise<Sent> {
    const step = action.kind === 'deliver' && !action.photo ? 'deliver-without-photo' : action.kind;
    const path = `/driver/orders/${encodeURIComponent(action.orderId)}/${step}`;
    const stamp = { action_id: action.id, captured_at: action.capturedAt };
    const said = JSON.stringify({ ...stamp, reason: action.reason ?? undefined });
    const startedMs = performance.now();
    const reply = action.photo
      ? await this.#ask('POST', `${path}?${new URLSearchParams(stamp)}`, action.photo, PHOTO_DEADLINE_MS, signal)
      : await this.#ask('POST', path, said, REQUEST_MS, signal);
    if (reply) return meaningOf(reply.status, reply.body, reply.retryAfterSeconds);
    return { kind: 'later', isSlow: !signal.aborted && performance.now() - startedMs >= SLOW_UPLOAD_MS };
  }

  /** The reply; null where there is none: no network, too slow, interrupted, or not JSON. */
  async #ask(
    method: string,
    path: string,
    body: string | ArrayBuffer | null,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<Reply | null> {
    const sentMs = Date.now();
    try {
      return await ask({ method, path, token: this.#token, body, timeoutMs, signal }, async (response) => {
        const retryAfter = Number.parseInt(response.headers.get('Retry-After') ?? '', 10);
        const retryAfterSeconds = Number.isNaN(retryAfter) ? null : retryAfter;
        const reply: Reply = { status: response.status, body: await response.json(), retryAfterSeconds };
        // Not of a hotel's sign-in page.
        if (isOurs(reply)) learnClock(response.headers.get('Date'), sentMs, Date.now());
        return reply;
      });
    } catch {
      return null;
    }
  }
}

function isOurs({ body }: Reply): boolean {
  return typeof (body as { readonly success?: unknown } | null)?.success === 'boolean';
}

function answer<Value>(reply: Reply | null): Answer<Value> {
  const body = reply?.body as { readonly success?: unknown } | null | undefined;
  if (!reply || !body || !isOurs(reply)) return { kind: 'failed' };
  if (reply.status === 401) return { kind: 'signed_out' };
  if (body.success) return { kind: 'ok', value: body as Value };
  return { kind: reply.status === 400 || reply.status === 409 ? 'refused' : 'failed' };
}
