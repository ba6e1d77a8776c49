import { restartWaitMs } from '../../domain/restart.ts';
import { below, TRACKING_PING_MIN_MS } from '../../limits.ts';
import type { TrackingMessage, TrackingStatus } from '../../tracking/messages.ts';
import type { TrackingView } from '../../tracking/tracking-view.ts';
import { within } from '../shared/within.ts';

/** Longest time in which a customer's page sends no `ping`. */
const TRACKING_PING_MS = 25_000;
/** Silence in which a customer's page sends one all the same, as what it is sent may be lost on the way. */
const TRACKING_QUIET_MS = 7_000;

/* @__PURE__ */ below({ TRACKING_PING_MIN_MS }, { TRACKING_QUIET_MS });
/* @__PURE__ */ below({ TRACKING_QUIET_MS }, { TRACKING_PING_MS });

/** How the page gets its changes at the moment. */
export type LinkState = 'connecting' | 'live' | 'reconnecting' | 'polling' | 'offline' | 'closed';

export type FeedListener = {
  order(view: TrackingView): void;
  message(message: Extract<TrackingMessage, { type: 'position' }>): void;
  state(state: LinkState): void;
};

/** Failures in a row after which sockets count as blocked, and the page polls over HTTP between attempts. */
const FAILURES_BEFORE_POLLING = 2;
const POLL_MS = 10_000;
const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 30_000;
/** Silence after a ping, or after opening, at which a socket counts as dead. */
const SILENCE_MS = 8_000;
/** Time after which a page in the background closes its socket. */
const HIDDEN_MS = 30_000;
/** Shortest time between two pings: well above the time at which the server closes the page. */
const PING_MIN_MS = 2 * TRACKING_PING_MIN_MS;

/** Keeps one order current by a socket that reconnects, or by polling where sockets are blocked. */
export class Feed {
  readonly #path: string;
  readonly #listener: FeedListener;
  #socket: WebSocket | null = null;
  #failures = 0;
  #final = false;
  #lastPingMs = 0;
  #retry: number | undefined;
  #poll: number | undefined;
  #ping: number | undefined;
  #quiet: number | undefined;
  #silence: number | undefined;
  #hidden: number | undefined;
  #soon: number | undefined;

  constructor(token: string, listener: FeedListener) {
    this.#path = `/track/${token}`;
    this.#listener = listener;
  }

  start(): void {
    document.addEventListener('visibilitychange', () => this.#visibilityChanged());
    // A hidden page resumes when it is looked at: nothing would close its socket.
    window.addEventListener('online', () => document.visibilityState === 'visible' && this.#resume());
    window.addEventListener('offline', () => this.#listener.state('offline'));
    window.addEventListener('pageshow', (event) => event.persisted && this.#resume());
    this.#listener.state('connecting');
    this.#connect();
  }

  /** Stops for good, as the order has ended and its socket would take another one's place. */
  finish(): void {
    this.#final = true;
    this.#pause();
    this.#listener.state('closed');
  }

  #connect(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    if (this.#socket || this.#final) return;
    const url = new URL(`${this.#path}/live`, location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    const socket = new WebSocket(url);
    this.#socket = socket;
    this.#expectSomething();
    socket.onmessage = (event) => this.#received(String(event.data));
    socket.onclose = (event) => this.#closed(restartWaitMs(event));
  }

  #received(text: string): void {
    clearTimeout(this.#silence);
    this.#failures = 0;
    this.#stopPolling();
    if (this.#ping === undefined) this.#ping = window.setInterval(() => this.#sayPing(), TRACKING_PING_MS);
    clearTimeout(this.#quiet);
    this.#quiet = window.setTimeout(() => this.#sayPing(), TRACKING_QUIET_MS);
    // After a `pong` as well: a socket that survived a moment without network has missed nothing.
    this.#listener.state('live');
    const message = JSON.parse(text) as TrackingMessage;
    if (message.type === 'position') this.#listener.message(message);
    if (message.type === 'order') this.#listener.order(message.order);
  }

  /** Closes the socket without waiting for the closing handshake, which a dead network never answers. */
  #drop(): void {
    clearTimeout(this.#silence);
    clearTimeout(this.#soon);
    clearTimeout(this.#quiet);
    clearInterval(this.#ping);
    this.#ping = undefined;
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    socket.onmessage = null;
    socket.onclose = null;
    socket.close();
  }

  /** @param waitMs the page's turn to come back where the service restarts, which is no failure; else null */
  #closed(waitMs: number | null): void {
    if (waitMs === null) {
      this.#lost();
      return;
    }
    this.#drop();
    this.#listener.state('reconnecting');
    this.#retry = window.setTimeout(() => this.#connect(), waitMs);
  }

  #lost(): void {
    this.#drop();
    this.#failures += 1;
    if (this.#failures < FAILURES_BEFORE_POLLING) this.#listener.state('reconnecting');
    else if (this.#poll === undefined) void this.#pollNow();
    const ceiling = Math.min(RETRY_FIRST_MS * 2 ** this.#failures, RETRY_MAX_MS);
    this.#retry = window.setTimeout(() => this.#connect(), ceiling * (0.5 + Math.random() / 2));
  }

  #sayPing(): void {
    clearTimeout(this.#soon);
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    if (Math.abs(Date.now() - this.#lastPingMs) < PING_MIN_MS) {
      this.#soon = window.setTimeout(() => this.#sayPing(), PING_MIN_MS);
      return;
    }
    this.#lastPingMs = Date.now();
    this.#socket.send('ping');
    this.#expectSomething();
  }

  #expectSomething(): void {
    clearTimeout(this.#silence);
    this.#silence = window.setTimeout(() => this.#lost(), SILENCE_MS);
  }

  async #pollNow(): Promise<void> {
    this.#poll = window.setTimeout(() => void this.#pollNow(), POLL_MS);
    const round = this.#poll;
    const answer = await ask(`${this.#path}/status`);
    // Meanwhile a socket was opened, or the page was hidden.
    if (round !== this.#poll) return;
    if (answer === 'gone') {
      this.#expire();
      return;
    }
    this.#listener.state(answer === 'failed' ? 'offline' : 'polling');
    if (answer !== 'failed') this.#listener.order(answer);
  }

  #stopPolling(): void {
    clearTimeout(this.#poll);
    this.#poll = undefined;
  }

  /**
   * Loads the page anew, which shows what the service says instead of the order. One that is served all the same is
   * loaded no more often than it would ask.
   */
  #expire(): void {
    this.#final = true;
    this.#pause();
    setTimeout(() => location.reload(), Math.max(0, POLL_MS - performance.now()));
  }

  #pause(): void {
    this.#drop();
    this.#stopPolling();
    clearTimeout(this.#retry);
    this.#retry = undefined;
  }

  #resume(): void {
    if (this.#final) return;
    this.#failures = 0;
    if (this.#socket) {
      this.#sayPing();
      return;
    }
    this.#listener.state('reconnecting');
    this.#connect();
  }

  #visibilityChanged(): void {
    clearTimeout(this.#hidden);
    if (document.visibilityState === 'visible') this.#resume();
    else this.#hidden = window.setTimeout(() => this.#pause(), HIDDEN_MS);
  }
}

function ask(path: string): Promise<TrackingView | 'gone' | 'failed'> {
  return within(SILENCE_MS, async (signal) => {
    const response = await fetch(path, { cache: 'no-store', signal });
    const said = (await response.json()) as TrackingStatus | { readonly success: false };
    if (response.ok && said.success) return said.order;
    // Only the service's own reply counts, as a proxy without a service behind it may answer 404 too.
    return said.success === false && (response.status === 404 || response.status === 410) ? 'gone' : 'failed';
  }).catch((): 'failed' => 'failed');
}
