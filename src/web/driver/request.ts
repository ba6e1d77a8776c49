import { within } from '../shared/within.ts';

/** A request to the service. */
type Asked = {
  readonly method: string;
  readonly path: string;
  /** The driver's token; null before the sign-in. */
  readonly token: string | null;
  /** JSON as text, or a photo. */
  readonly body: string | ArrayBuffer | null;
  readonly timeoutMs: number;
  /** Ends the request before its time is over. */
  readonly signal?: AbortSignal | undefined;
};

/**
 * Asks the service, and reads its reply within the same time.
 *
 * @throws without a reply: no network, too slow, or interrupted
 */
export function ask<Value>(asked: Asked, read: (response: Response) => Promise<Value>): Promise<Value> {
  const { method, path, token, body, timeoutMs } = asked;
  const headers = {
    ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
    ...(body === null ? {} : { 'Content-Type': typeof body === 'string' ? 'application/json' : 'image/jpeg' }),
  };
  const request = { method, body, headers, cache: 'no-store', credentials: 'omit', redirect: 'error' } as const;
  return within(timeoutMs, async (signal) => read(await fetch(path, { ...request, signal })), asked.signal);
}
