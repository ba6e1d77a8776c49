import type { HttpResponse } from 'uWebSockets.js';
import { ServiceError } from '../domain/errors.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import { type BodyBudget, BodyReader } from './body.ts';
import type { HttpLimits } from './http-limits.ts';
import { errorReply } from './reply.ts';
import { isMediaType, type ReadHead } from './request.ts';
import type { RequestsInFlight } from './requests-in-flight.ts';
import { type ReplySettings, Responder } from './responder.ts';
import type { Reply, Route } from './route.ts';
import { AbortNotice } from './signal.ts';

/** What the exchanges of one server share. */
export type ExchangeSettings = ReplySettings & {
  /** Whether the server is past its last request and takes no more work. */
  readonly refusing: () => boolean;
  readonly supportEmail: string;
  readonly logger: Logger;
  readonly limits: HttpLimits;
  readonly load: RequestsInFlight;
  /** For small bodies, and for large ones, whose slow senders would leave no room for the small. */
  readonly budgets: { readonly small: BodyBudget; readonly large: BodyBudget };
  /** Told of every reply and of every client that left (status 0), for metrics. */
  readonly observe: (pattern: string, method: string, status: number, durationMs: number) => void;
};

/** What a metric may be labelled with; a client can send any word as its method. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']);
const NOTHING = Buffer.alloc(0);

/**
 * One request and its reply, in the order of checks that every route has: 401, then 415, 413, the body's arrival (408),
 * 503 where too much is at work, and then whatever the route itself checks.
 */
export class Exchange {
  readonly #settings: ExchangeSettings;
  readonly #route: Route;
  readonly #request: ReadHead;
  readonly #responder: Responder;
  readonly #notice = new AbortNotice();
  readonly #startedMs = performance.now();
  readonly #body: BodyReader | null;
  #timer: NodeJS.Timeout | undefined;
  #authenticated = false;
  #headers: Readonly<Record<string, string>> = {};

  /** Starts serving; everything of the transport's request has been copied into `read`. */
  static start(settings: ExchangeSettings, route: Route, response: HttpResponse, read: ReadHead): void {
    void new Exchange(settings, route, response, read).#run();
  }

  private constructor(settings: ExchangeSettings, route: Route, response: HttpResponse, read: ReadHead) {
    this.#settings = settings;
    this.#route = route;
    this.#request = read;
    this.#responder = new Responder(response, settings, read.head, () => this.#clientLeft());
    this.#body = route.body ? readerOf(settings, response, route.body.maxBytes) : null;
  }

  async #run(): Promise<void> {
    const { load } = this.#settings;
    load.arrived();
    try {
      this.#setDeadline(this.#route.body?.deadlineMs ?? this.#settings.limits.bodyDeadlineMs, () => this.#tooSlow());
      const reply = await this.#serve().catch((error: unknown) => this.#refusalOf(error));
      if (reply) await this.#answer(reply);
    } catch (error) {
      this.#send(this.#refusalOf(error));
    } finally {
      clearTimeout(this.#timer);
      this.#notice.answered();
      this.#body?.release();
      load.left();
    }
  }

  /** The route's reply, or null where nobody waits for one any more. */
  async #serve(): Promise<Reply | null> {
    if (this.#settings.refusing())
      throw new ServiceError('unavailable', 'The server is stopping. Try again in a moment.');
    if (this.#request.fault !== null) throw new ServiceError('invalid_request', this.#request.fault);
    const principal = await this.#route.authenticate(this.#request.head);
    if (this.#responder.over) return null;
    this.#authenticated = true;
    this.#judgeHead();
    const { load } = this.#settings;
    if (!load.begin()) throw new ServiceError('unavailable', 'Too many requests are at work. Try again in a moment.');
    try {
      const body = await this.#receiveBody();
      if (!body || this.#responder.over) return null;
      return await this.#handle(principal, body);
    } finally {
      load.end();
    }
  }

  #judgeHead(): void {
    const { body } = this.#route;
    if (!body || (body.optional && this.#request.announcedBytes === 0)) return;
    if (!isMediaType(this.#request.head.header('content-type'), body.contentTypes)) {
      const message = `The Content-Type must be ${body.contentTypes.join(' or ')}.`;
      throw new ServiceError('unsupported_media_type', message);
    }
    if ((this.#request.announcedBytes ?? 0) > body.maxBytes) throw tooLarge(body.maxBytes);
  }

  async #receiveBody(): Promise<Buffer | null> {
    if (!this.#body) return NOTHING;
    this.#body.admit();
    const outcome = await this.#body.outcome;
    switch (outcome.kind) {
      case 'complete':
        return outcome.bytes;
      case 'too_large':
        throw tooLarge(this.#route.body?.maxBytes ?? 0);
      case 'no_room':
        throw new ServiceError('unavailable', 'Too many uploads are at work. Try again in a moment.');
      case 'gone':
        return null;
    }
  }

  #handle(principal: unknown, body: Buffer): Promise<Reply> | Reply {
    const code = this.#route.onDeadline ?? 'unavailable';
    const doubt = code === 'outcome_unknown' ? ' Whether this was done is not known.' : '';
    const message = `The answer took too long to find.${doubt}`;
    this.#setDeadline(this.#settings.limits.requestDeadlineMs, () => this.#giveUp(new ServiceError(code, message)));
    return this.#route.handle({
      head: this.#request.head,
      principal,
      body,
      signal: this.#notice,
      alwaysReplyWith: (headers) => {
        this.#headers = headers;
      },
    });
  }

  #tooSlow(): void {
    this.#giveUp(
      this.#authenticated
        ? new ServiceError('request_timeout', 'The body took too long to arrive.')
        : new ServiceError('unavailable', 'The key could not be looked up in time.'),
    );
  }

  /** Answers before the route did; it is told that nobody waits for it any more. */
  #giveUp(error: ServiceError): void {
    // First, so that what is remembered of it is on its way when the caller tries again.
    this.#notice.abort();
    this.#send(this.#refusalOf(error), error.code === 'request_timeout' || !this.#canKeepConnection());
    this.#body?.abandon();
  }

  #clientLeft(): void {
    this.#observe(0);
    this.#body?.abandon();
    this.#notice.abort();
  }

  #refusalOf(error: unknown): Reply {
    const { requestId } = this.#request.head;
    this.#log(error, requestId);
    return errorReply(error, requestId, this.#settings.supportEmail);
  }

  #log(error: unknown, request: string): void {
    const { logger } = this.#settings;
    if (!(error instanceof ServiceError)) {
      logger.error({ request, route: this.#route.pattern, error: errorFields(error) }, 'request failed');
      return;
    }
    const cause = error.cause === undefined ? {} : { cause: errorFields(error.cause) };
    if (error.code === 'internal') logger.error({ request, route: this.#route.pattern, ...cause }, 'request failed');
    else if (error.code === 'outcome_unknown') logger.warn({ request, ...cause }, 'outcome of a request unknown');
    else logger.debug({ request, code: error.code, ...cause }, 'request refused');
  }

  async #answer(reply: Reply): Promise<void> {
    if (this.#responder.over) return;
    this.#body?.resume();
    if (this.#canKeepConnection()) this.#send(reply);
    else if (await this.#responder.sendLast(this.#complete(reply))) this.#observe(reply.status);
  }

  #send(reply: Reply, close = !this.#canKeepConnection()): void {
    if (this.#responder.over) return;
    this.#body?.resume();
    if (this.#responder.send(this.#complete(reply), close)) this.#observe(reply.status);
  }

  /** With what is told of the store's rate. */
  #complete(reply: Reply): Reply {
    return { ...reply, headers: { ...reply.headers, ...this.#headers } };
  }

  #canKeepConnection(): boolean {
    return canKeepConnection(this.#request, this.#body?.received ?? 0, this.#settings.limits);
  }

  #observe(status: number): void {
    const durationMs = performance.now() - this.#startedMs;
    const { method } = this.#request.head;
    this.#settings.observe(this.#route.pattern, METHODS.has(method) ? method : 'other', status, durationMs);
  }

  #setDeadline(ms: number, expired: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(expired, ms);
  }
}

/** Whether another request can follow: not if more of a body would than is worth reading, or if where it ends is in doubt. */
export function canKeepConnection(
  { announcedBytes, fault, isLast }: ReadHead,
  receivedBytes: number,
  { maxDiscardedBodyBytes }: HttpLimits,
): boolean {
  if (fault !== null || isLast || announcedBytes === undefined) return false;
  return announcedBytes - receivedBytes <= maxDiscardedBodyBytes;
}

function readerOf({ limits, budgets }: ExchangeSettings, response: HttpResponse, maxBytes: number): BodyReader {
  const unauthenticated = limits.maxUnauthenticatedBodyBytes;
  const budget = maxBytes > unauthenticated ? budgets.large : budgets.small;
  return new BodyReader(response, budget, maxBytes, unauthenticated);
}

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError('payload_too_large', `The body is larger than ${maxBytes} bytes.`);
}
