import type { HttpResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import { KEEP_ALIVE_SECONDS } from '../limits.ts';
import { toBytes } from './bytes.ts';
import type { Reply } from './route.ts';

/** What every reply of a server has in common. */
export type ReplySettings = {
  readonly sandbox: boolean;
  /** Whether connections are to end with their next reply, because the server is about to stop. */
  readonly closing: () => boolean;
};

/** A character that would end a header or can't stand in one. */
const UNFIT_FOR_HEADER = /[^\x20-\x7e]/;

/** Whether the transport can end a reply to HEAD: not before Node 22, whose ABI has this number. */
const ENDS_WITHOUT_BODY = Number(process.versions.modules) >= 127;

/**
 * The one way to answer a request: at most once, in one packet, and never after the client is gone. To be constructed
 * in the transport's callback, which ends the process if nobody listens for a closed connection.
 */
export class Responder {
  readonly #response: HttpResponse;
  readonly #settings: ReplySettings;
  readonly #requestId: string;
  readonly #headOnly: boolean;
  #over = false;

  constructor(
    response: HttpResponse,
    settings: ReplySettings,
    request: { readonly requestId: string; readonly method: string },
    onGone: () => void,
  ) {
    this.#response = response;
    this.#settings = settings;
    this.#requestId = request.requestId;
    this.#headOnly = request.method === 'HEAD';
    response.onAborted(() => {
      if (this.#over) return;
      this.#over = true;
      onGone();
    });
  }

  /** Whether the request has been answered or its client is gone; the response may no longer be touched then. */
  get over(): boolean {
    return this.#over;
  }

  /** Sends the reply, and ends the connection after it where told. False where it was too late. */
  send(reply: Reply, closeConnection = false): boolean {
    if (this.#over) return false;
    const headers = Object.entries(reply.headers ?? {});
    for (const [name, value] of headers) {
      if (UNFIT_FOR_HEADER.test(value)) throw new Error(`The value of header ${name} is not plain ASCII`);
    }
    this.#over = true;
    const close = closeConnection || this.#settings.closing();
    this.#response.cork(() => this.#write(reply, headers, close));
    if (this.#headOnly && reply.body.length > 0 && !ENDS_WITHOUT_BODY) this.#response.close();
    return true;
  }

  /**
   * Sends the reply as the last one of its connection. Not from inside of the transport's parser, which takes what came right
   * behind a request that is already answered for the next one, and then forgets to close; with one that is not answered
   * it closes the connection instead.
   */
  async sendLast(reply: Reply): Promise<boolean> {
    await new Promise((resolve) => setImmediate(resolve));
    return this.send(reply, true);
  }

  /**
   * Accepts the request as a WebSocket with what `upgrade` does. False where it was too late.
   *
   * The upgrade itself stays outside of the cork: it makes the response's memory the socket's, and where that did not
   * move, the transport's cork goes on to read the response's state in it and, by chance, closes the new socket
   * (uWebSockets.js 20, seen in one of four processes).
   */
  upgrade(upgrade: (response: HttpResponse) => void): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#response.cork(() => {
      this.#response.writeStatus('101 Switching Protocols');
      this.#writeOwnHeaders();
    });
    upgrade(this.#response);
    return true;
  }

  #write(reply: Reply, headers: readonly (readonly [string, string])[], close: boolean): void {
    const response = this.#response;
    response.writeStatus(`${reply.status} ${STATUS_CODES[reply.status] ?? 'Unknown'}`);
    this.#writeOwnHeaders();
    response.writeHeader('X-Content-Type-Options', 'nosniff');
    if (!close && !this.#headOnly) response.writeHeader('Keep-Alive', `timeout=${KEEP_ALIVE_SECONDS}`);
    if (reply.headers?.['Cache-Control'] === undefined) response.writeHeader('Cache-Control', 'no-store');
    for (const [name, value] of headers) response.writeHeader(name, value);
    const body = toBytes(reply.body);
    if (body.length > 0 && this.#headOnly) this.#endHead(body.length);
    else if (close || this.#headOnly) response.end(body, true);
    else this.#end(body);
  }

  /**
   * What the client does not take stays with us and the request unanswered, so that the transport cuts whoever reads nothing
   * and goes on asking; `end` would pile up the replies without a bound.
   */
  #end(body: Buffer): void {
    const response = this.#response;
    const start = response.getWriteOffset();
    if (response.tryEnd(body, body.length)[1]) return;
    response.onWritable((offset) => response.tryEnd(body.subarray(offset - start), body.length)[0]);
  }

  /**
   * Tells the length of a body that is not sent, and ends the connection. Before Node 22 that takes a body which is
   * begun and never comes; `send` then closes the connection.
   */
  #endHead(length: number): void {
    if (ENDS_WITHOUT_BODY) {
      this.#response.endWithoutBody(length, true);
    } else {
      this.#response.writeHeader('Connection', 'close');
      this.#response.tryEnd('', length);
    }
  }

  #writeOwnHeaders(): void {
    this.#response.writeHeader('X-Request-Id', this.#requestId);
    if (this.#settings.sandbox) this.#response.writeHeader('X-Sameday-Mode', 'sandbox');
  }
}
