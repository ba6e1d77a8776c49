import { holderOf } from './caller.ts';

/** One answered request, or one upgrade to a WebSocket. */
export type AnsweredRequest = {
  readonly requestId: string;
  readonly method: string;
  /** The route's pattern. The path itself may hold ids and tracking tokens. */
  readonly route: string;
  /** 0 where the client left first. */
  readonly status: number;
  readonly durationMs: number;
  /** Who was let in, where that is known: a store's or a driver's ids are read of it. */
  readonly principal?: unknown;
};

export type NoteRequest = (request: AnsweredRequest) => void;

type Fields = Readonly<Record<string, string | number | undefined>>;

/**
 * Writes a line for each answered request, by which a caller's `request_id` is found. Of failed ones (status
 * 400 and above) at most `maxFailedPerSecond` a second get one, as a flood of refusals costs little only
 * without; the others are counted in a line of their own.
 *
 * @param which `failed` leaves out those that did not fail, and those whose client left
 * @param write writes one line
 */
export function createRequestLog(
  which: 'all' | 'failed',
  write: (fields: Fields, message: string) => void,
  maxFailedPerSecond: number,
): NoteRequest {
  let failed = 0;

  function endSecond(): void {
    const unwritten = failed - maxFailedPerSecond;
    failed = 0;
    if (unwritten > 0) write({ requests: unwritten }, 'failed requests without a line');
  }

  /** Whether one more failed request of this second gets a line. */
  function hasRoom(): boolean {
    if (failed === 0) setTimeout(endSecond, 1_000).unref();
    failed++;
    return failed <= maxFailedPerSecond;
  }

  return ({ requestId, method, route, status, durationMs, principal }) => {
    if (status < 400 ? which === 'failed' : !hasRoom()) return;
    const ms = Math.round(durationMs * 10) / 10;
    const [kind, id] = holderOf(principal) ?? [];
    write({ request: requestId, method, route, status, ms, ...(kind && { [kind]: id }) }, 'request');
  };
}
