import type { ErrorCode, ServiceError } from '../domain/errors.ts';

/** The headers that are copied, by their lower-case names; no others are looked at. */
export const HEADER_NAMES = [
  'accept',
  'accept-encoding',
  'authorization',
  'content-length',
  'content-type',
  'host',
  'idempotency-key',
  'if-none-match',
  'origin',
  'stripe-signature',
  'transfer-encoding',
  'x-forwarded-for',
  'x-twilio-signature',
] as const;
export type HeaderName = (typeof HEADER_NAMES)[number];

/** What is known of a request before its body; everything is copied, the transport's own object dies at once. */
export type RequestHead = {
  /** Upper case, as in `GET`. */
  readonly method: string;
  readonly path: string;
  /** The pattern's parameters in their order, percent-decoded. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  header(name: HeaderName): string | undefined;
  /** The client's address; behind a trusted proxy the one that proxy saw. To be asked before anything asynchronous. */
  remoteAddress(): string;
  /** Made by us for every request; callers quote it. */
  readonly requestId: string;
};

/** Whether anybody still waits for this request's reply: not after the connection closed or the deadline was told. */
export type RequestSignal = {
  readonly aborted: boolean;
  /** Calls back once when nobody waits any more; at once if that has happened. */
  onAbort(listener: () => void): void;
  /** Calls back once when the route's answer was given to the transport: heard, as far as that can be known. */
  onAnswered(listener: () => void): void;
};

export type RouteRequest<Principal> = {
  readonly head: RequestHead;
  readonly principal: Principal;
  /** Empty for a route without `body`. */
  readonly body: Buffer;
  readonly signal: RequestSignal;
  /** Has every reply to this request carry these headers, whoever makes it. */
  readonly alwaysReplyWith: (headers: Readonly<Record<string, string>>) => void;
};

/** A reply, already serialised. Header values are plain printable ASCII and never hold what a client sent. */
export type Reply = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
};

/**
 * One address of the service. A `get` route answers `HEAD` too. Expected failures are thrown as `ServiceError` by
 * `authenticate` and `handle`; anything else thrown is logged and replied to with 500.
 */
export type Route<Principal = unknown> = {
  readonly method: 'get' | 'post' | 'put';
  /** Segments, with `:name` for a parameter and a last `*` for the rest. */
  readonly pattern: string;
  /**
   * Refuses a request by its head, at once and before anything is set up for it, so that a flood costs little; null where
   * it is to be served. Only for callers whose secret is known to be good: all others hear 401 first.
   */
  shed?(head: RequestHead): ServiceError | null;
  /** Who asks; runs while the body still arrives, and before anything else of the request is judged. */
  authenticate(head: RequestHead): Promise<Principal> | Principal;
  readonly body?: {
    /** Media types in lower case, without parameters. */
    readonly contentTypes: readonly string[];
    readonly maxBytes: number;
    /** Longest the body may take to arrive; `BODY_DEADLINE_MS` unless told. */
    readonly deadlineMs?: number;
    /** Whether a request without any is fine; then it needs no type either. */
    readonly optional?: boolean;
  };
  /** What a caller is told when `handle` takes longer than the deadline; `unavailable` unless told. */
  readonly onDeadline?: ErrorCode;
  handle(request: RouteRequest<Principal>): Promise<Reply> | Reply;
};

/** For routes that anybody may ask. */
export function anyone(): null {
  return null;
}
