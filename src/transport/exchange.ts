import type { HttpResponse } from 'uWebSockets.js';
import { ServiceError } from '../domain/errors.ts';
import type { Logger } from '../telemetry.ts';
import { type BodyBudgets, BodyReader } from './body.ts';
import { checkBodyHead } from './body-head.ts';
import { callerOf } from './caller.ts';
import type { HttpLimits } from './http-limits.ts';
import { receiveBody } from './receive-body.ts';
import { logRefusal } from './refusal-log.ts';
import { errorReply } from './reply.ts';
import { canKeepConnection, type ReadHead } from './request.ts';
import type { NoteRequest } from './request-log.ts';
import type { RequestsInFlight } from './requests-in-flight.ts';
import { type ReplySettings, Responder } from './responder.ts';
import type { Reply, Route } from './route.ts';
import type { SharedPool } from './shares.ts';
import { AbortNotice } from './signal.ts';

/** What the exchanges of one server share. */
export type ExchangeSettings = ReplySettings & {
  /** Whether the server takes no more work: it is past its last request, or another one took its place. */
  readonly refusing: () => boolean;
  readonly supportEmail: string;
  readonly logger: Logger;
  readonly limits: HttpLimits;
  readonly requests: RequestsInFlight;
  readonly budgets: BodyBudgets;
  /** Requests whose body is still to come, by caller. */
  readonly waiting: SharedPool;
  /** Called for every reply and for every client that left (status 0), for metrics. */
  readonly observe: (pattern: string, method: string, status: number, durationMs: number) => void;
  readonly noteRequest: NoteRequest;
};

/** The methods that metrics are labelled with; a client can send any word as its method. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']);
/** Methods that change nothing. */
const READING = new Set(['GET', 'HEAD']);
const NO_BODY = Buffer.alloc(0);

/**
 * One request and its reply. Every route has the same order of checks: 401, 415, 413, 503 where too many
 * requests are at work, the route's own of the head, 503 where too many bodies of the caller are on their way,
 * 408 while the body arrives, 503 as before, and then the route's own. Its work begins with the whole body, so
 * that slow senders hold up nobody's.
 */
export class Exchange {
  readonly #settings: ExchangeSettings;
  readonly #route: Route;
  readonly #request: ReadHead;
  readonly #responder: Responder;
  readonly #notice = new AbortNotice();
  readonly #startedMs = performance.now();
  readonly #body: BodyReader | null;
  readonly #whenOver: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #authenticated = false;
  #principal: unknown = null;
  #headers: Readonly<Record<string, string>> = {};

  /** Starts serving. `read` holds copies of all that is needed of the request. */
  static start(settings: ExchangeSettings, route: Route, response: HttpResponse, read: ReadHead): void {
    void new Exchange(settings, route, response, read).#run();
  }

  private constructor(settings: ExchangeSettings, route: Route, response: HttpResponse, read: ReadHead) {
    this.#settings = settings;
    this.#route = route;
    this.#request = read;
    this.#responder = new Responder(response, settings, read.head, () => this.#clientLeft());
    const { body } = route;
    this.#body = body ? BodyReader.open(settings, response, body.maxBytes, body.budget) : null;
  }

  async #run(): Promise<void> {
    const { requests } = this.#settings;
    requests.arrived();
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
      for (const listener of this.#whenOver) listener();
      requests.left();
    }
  }

  /** The route's reply, or null where nobody waits for one. */
  async #serve(): Promise<Reply | null> {
    if (this.#settings.refusing())
      throw new ServiceError('unavailable', 'The server is stopping. Try again in a moment.');
    if (this.#request.fault !== null) throw new ServiceError('invalid_request', this.#request.fault);
    const principal = await this.#route.authenticate(this.#request.head);
    if (this.#responder.over) return null;
    this.#authenticated = true;
    this.#principal = principal;
    checkBodyHead(this.#route.body, this.#request);
    this.#checkRoom();
    const whenOver = (listener: () => void) => void this.#whenOver.push(listener);
    const answer = await this.#route.admit?.({ head: this.#request.head, principal, whenOver });
    if (answer || this.#responder.over) return answer ?? null;
    const body = await this.#receiveBody(principal);
    if (!body || this.#responder.over) return null;
    this.#checkRoom();
    const { requests } = this.#settings;
    requests.begin();
    try {
      return await this.#handle(principal, body);
    } finally {
      requests.end();
    }
  }

  #receiveBody(principal: unknown): Promise<Buffer | null> | Buffer {
    if (!this.#body) return NO_BODY;
    return receiveBody(this.#body, callerOf(principal, this.#request.head), this.#settings.waiting);
  }

  #checkRoom(): void {
    if (this.#settings.requests.hasRoom || this.#route.isHealthCheck) return;
    throw new ServiceError('unavailable', 'Too many requests are at work. Try again in a moment.');
  }

  #handle(principal: unknown, body: Buffer): Promise<Reply> | Reply {
    const code = this.#route.onDeadline ?? 'unavailable';
    const doubt = code === 'outcome_unknown' ? ' Whether this was done is not known.' : '';
    const message = `The answer took too long to find.${doubt}`;
    const deadlineMs = this.#route.deadlineMs ?? this.#settings.limits.requestDeadlineMs;
    this.#setDeadline(deadlineMs, () => this.#giveUp(new ServiceError(code, message)));
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

  /** Replies before the route does, and tells the route that nobody waits for its reply. */
  #giveUp(error: ServiceError): void {
    // First, so that what the route records of it is on its way when the caller tries again.
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
    logRefusal(this.#settings.logger, error, requestId, this.#route.pattern);
    return errorReply(error, requestId, this.#settings.supportEmail);
  }

  async #answer(reply: Reply): Promise<void> {
    if (this.#responder.over) return;
    // What was changed is told in any case.
    if (READING.has(this.#request.head.method) && !(await this.#responder.makeRoomFor(reply))) {
      throw new ServiceError('unavailable', 'Too much that was sent to your network is unread. Try again in a moment.');
    }
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

  /** With the headers that the route wants on every reply. */
  #complete(reply: Reply): Reply {
    return { ...reply, headers: { ...reply.headers, ...this.#headers } };
  }

  /** A connection that is closed under an upload can lose the reply, so whoever is let in may end theirs. */
  #canKeepConnection(): boolean {
    const { maxDiscardedBodyBytes } = this.#settings.limits;
    const taken = this.#authenticated ? (this.#route.body?.maxBytes ?? 0) : 0;
    return canKeepConnection(this.#request, this.#body?.received ?? 0, Math.max(maxDiscardedBodyBytes, taken));
  }

  #observe(status: number): void {
    const durationMs = performance.now() - this.#startedMs;
    const { requestId } = this.#request.head;
    const route = this.#route.pattern;
    const method = METHODS.has(this.#request.head.method) ? this.#request.head.method : 'other';
    this.#settings.observe(route, method, status, durationMs);
    this.#settings.noteRequest({ requestId, method, route, status, durationMs, principal: this.#principal });
  }

  #setDeadline(ms: number, expired: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(expired, ms);
  }
}
