import type { ErrorCode, ServiceError } from '../domain/errors.ts';
import type { Operation } from './operation.ts';

/** The headers that are copied for routes, by their lower-case names. */
export const HEADER_NAMES = [
  'accept',
  'accept-encoding',
  'accept-language',
  'authorization',
  'content-encoding',
  'content-type',
  'host',
  'idempotency-key',
  'if-none-match',
  'stripe-signature',
  'x-twilio-signature',
] as const;
export type HeaderName = (typeof HEADER_NAMES)[number];

/** What is known of a request before its body. */
export type RequestHead = {
  /** Upper case, as in `GET`. */
  readonly method: string;
  readonly path: string;
  /** The pattern's parameters in order, percent-decoded. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  header(name: HeaderName): string | undefined;
  /** The client's address, or what a trusted proxy says it is. To be called while its reply is awaited. */
  remoteAddress(): string;
  /** New for every request; callers quote it. */
  readonly requestId: string;
};

/** Whether anybody waits for the reply: nobody does once the connection closed or the deadline passed. */
export type RequestSignal = {
  readonly aborted: boolean;
  /** Calls `listener` once when nobody waits for the reply; at once where that has happened. */
  onAbort(listener: () => void): void;
};

export type RouteRequest<Principal> = {
  readonly head: RequestHead;
  readonly principal: Principal;
  /** Empty for a route without `body`. */
  readonly body: Buffer;
  readonly signal: RequestSignal;
  /** Adds headers to every reply to this request, an error's included. */
  readonly alwaysReplyWith: (headers: Readonly<Record<string, string>>) => void;
};

/** What a route judges before it takes a body. */
export type RouteEntry<Principal> = {
  readonly head: RequestHead;
  readonly principal: Principal;
  /** Calls `listener` once the request is over, whatever became of it. */
  readonly whenOver: (listener: () => void) => void;
};

/** A reply, serialised. Header values are printable ASCII and never hold what a client sent. */
export type Reply = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
};

/**
 * One method of one address. A `get` route answers `HEAD` too. Expected failures are thrown as `ServiceError`
 * by `authenticate` and `handle`; anything else thrown is logged and replied to with 500.
 */
export type Route<Principal = unknown> = {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Segments, with `:name` for a parameter and a last `*` for the rest. */
  readonly pattern: string;
  /**
   * Refuses a request by its head before anything is set up for it, so that a flood costs little; null where
   * it is to be served. Only for callers whose secret is known to be good; all others are answered 401 first.
   */
  shed?(head: RequestHead): ServiceError | null;
  /** The caller; runs while the body arrives, before any other check. */
  authenticate(head: RequestHead): Promise<Principal> | Principal;
  readonly body?: {
    /** Media types in lower case, without parameters. */
    readonly contentTypes: readonly string[];
    readonly maxBytes: number;
    /** Longest the body may take to arrive, in milliseconds; `BODY_DEADLINE_MS` by default. */
    readonly deadlineMs?: number;
    /**
     * What its bytes count in: `small`, the room of JSON bodies, or `large`, that of photos. By default the
     * bodies that may be larger than what is kept of an unknown sender's are large.
     */
    readonly budget?: 'small' | 'large';
    /** Whether the body may be left out, and its type with it. */
    readonly optional?: boolean;
  };
  /**
   * Judges a request by its head and its caller before its body is taken, so that a refused one costs no
   * room. A reply answers it at once; null lets it go on.
   */
  admit?(entry: RouteEntry<Principal>): Promise<Reply | null> | Reply | null;
  /** Longest time of `handle`, in milliseconds; `REQUEST_DEADLINE_MS` by default. */
  readonly deadlineMs?: number;
  /** The error where `handle` takes longer than the deadline; `unavailable` by default. */
  readonly onDeadline?: ErrorCode;
  handle(request: RouteRequest<Principal>): Promise<Reply> | Reply;
  /** Whether it is answered however many requests are at work, so that nobody restarts a busy process. */
  readonly isHealthCheck?: boolean;
  /** What `/openapi.json` says of it; every route of the API has one, pages and files have none. */
  readonly operation?: Operation;
};

/** Authenticates nobody, for public routes. */
export function anyone(): null {
  return null;
}
