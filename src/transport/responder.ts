import type { HttpResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import { networkOf } from '../domain/network.ts';
import { toBytes } from './bytes.ts';
import { addressOf } from './request.ts';
import type { Reply, RequestHead } from './route.ts';
import type { Reader, UnsentReplies } from './unsent.ts';
import { UNSENT_FORGOTTEN_MS } from './unsent.ts';

/** Size in bytes from which replies are counted until they are read. A JSON error has 300, a page up to 20 KB. */
const LARGE_REPLY_BYTES = 4 * 1024;
/** Time that `Keep-Alive` promises an idle connection. Below the 8 s at which the transport may cut it. */
const KEEP_ALIVE_SECONDS = 5;

/** What all replies of a server have in common. */
export type ReplySettings = {
  readonly sandbox: boolean;
  /** Whether browsers are told to use https alone. */
  readonly httpsOnly: boolean;
  /** Whether connections end with their next reply, because the server is stopping. */
  readonly closing: () => boolean;
  readonly unsent: UnsentReplies;
};

/** A character that would end a header or cannot stand in one. */
const UNFIT_FOR_HEADER = /[^\x20-\x7e]/;

/** RFC 6797. Other hosts of the domain are not the service's to speak for. */
const HTTPS_FOR_A_YEAR = 'max-age=31536000';

/** Whether the transport can end a reply to HEAD: not before Node 22, whose ABI has this number. */
const ENDS_WITHOUT_BODY = Number(process.versions.modules) >= 127;

/**
 * Answers a request at most once, in one packet, and never after the client is gone. To be constructed in the
 * callback of uWebSockets.js, which ends the process if nobody listens for an aborted request.
 */
export class Responder {
  readonly #response: HttpResponse;
  readonly #settings: ReplySettings;
  readonly #request: Pick<RequestHead, 'requestId' | 'method' | 'remoteAddress'>;
  readonly #headOnly: boolean;
  #over = false;
  /** Called once the system has all of the reply, or nobody is there to take it. */
  #handedOver: (() => void) | null = null;

  constructor(
    response: HttpResponse,
    settings: ReplySettings,
    request: Pick<RequestHead, 'requestId' | 'method' | 'remoteAddress'>,
    onGone: () => void,
  ) {
    this.#response = response;
    this.#settings = settings;
    this.#request = request;
    this.#headOnly = request.method === 'HEAD';
    response.onAborted(() => {
      this.#endTransfer();
      if (this.#over) return;
      this.#over = true;
      onGone();
    });
  }

  /** Whether the request was answered or its client is gone; the response must not be touched then. */
  get over(): boolean {
    return this.#over;
  }

  /**
   * Makes room for this reply, before it is sent; false where the client's network has not read enough of what it was
   * sent before. Many replies that wait for the same look get no more room than there is.
   */
  async makeRoomFor({ body }: Reply): Promise<boolean> {
    if (body.length < LARGE_REPLY_BYTES || this.#headOnly) return true;
    const handedOver = await this.#settings.unsent.beginIfRead(this.#reader(), body.length);
    this.#handedOver = handedOver;
    if (this.#over) this.#endTransfer();
    return handedOver !== null;
  }

  /** Sends the reply, and ends the connection after it if `closeConnection`. False where it is too late. */
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
   * Sends the reply as the last one of its connection, in a later turn of the event loop: the parser of
   * uWebSockets.js takes what follows an already answered request for the next one and then forgets to close,
   * while behind an unanswered request it closes the connection. False where it is too late.
   */
  async sendLast(reply: Reply): Promise<boolean> {
    await new Promise((resolve) => setImmediate(resolve));
    return this.send(reply, true);
  }

  /**
   * Accepts the request as a WebSocket by calling `upgrade`. False where it is too late.
   *
   * The upgrade stays outside of the response's own cork: it makes the response's memory the socket's, and where
   * that memory did not move, the cork goes on to read the response's state in it and may close the new socket
   * (uWebSockets.js 20, seen in one of four processes; mended upstream in its issue 1929). Outside of any cork it
   * prints a warning. While another socket holds the cork, the response's is a mere call of what it is given.
   *
   * @param beside runs what it is given while another socket holds the cork; null where no other one is open
   */
  upgrade(upgrade: (response: HttpResponse) => void, beside: ((act: () => void) => void) | null): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#response.cork(() => {
      this.#response.writeStatus('101 Switching Protocols');
      this.#writeOwnHeaders();
    });
    if (beside) beside(() => this.#response.cork(() => upgrade(this.#response)));
    else upgrade(this.#response);
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
    const isLarge = body.length >= LARGE_REPLY_BYTES && !this.#headOnly;
    if (isLarge) this.#handedOver ??= this.#settings.unsent.begin(this.#reader(), body.length);
    if (body.length > 0 && this.#headOnly) this.#endHead(body.length);
    else if (close || this.#headOnly) this.#endLast(body);
    else this.#end(body);
  }

  /** The transport keeps what the client does not take, for as long as it may be silent, and says no more of it. */
  #endLast(body: Buffer): void {
    this.#response.end(body, true);
    if (this.#handedOver) setTimeout(() => this.#endTransfer(), UNSENT_FORGOTTEN_MS).unref();
  }

  #reader(): Reader {
    const network = networkOf(this.#request.remoteAddress());
    return { network, peer: networkOf(addressOf(this.#response)) };
  }

  #endTransfer(): void {
    this.#handedOver?.();
    this.#handedOver = null;
  }

  /**
   * The rest of what the client does not take is kept here and the request stays unanswered, so that
   * uWebSockets.js cuts a client that reads nothing and goes on asking; `end` would pile up replies.
   */
  #end(body: Buffer): void {
    const response = this.#response;
    const start = response.getWriteOffset();
    if (response.tryEnd(body, body.length)[1]) {
      this.#endTransfer();
      return;
    }
    response.onWritable((offset) => {
      const [isTaken, isDone] = response.tryEnd(body.subarray(offset - start), body.length);
      if (isDone) this.#endTransfer();
      return isTaken;
    });
  }

  /**
   * Sends the length of a body that is not sent, and ends the connection. Before Node 22 the only way is to
   * begin a body that never comes.
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
    this.#response.writeHeader('X-Request-Id', this.#request.requestId);
    if (this.#settings.httpsOnly) this.#response.writeHeader('Strict-Transport-Security', HTTPS_FOR_A_YEAR);
    if (this.#settings.sandbox) this.#response.writeHeader('X-Sameday-Mode', 'sandbox');
  }
}
