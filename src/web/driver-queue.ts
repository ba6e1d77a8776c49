import type { ErrorCode } from '../domain/errors.ts';
import type { Action, Progress } from './driver-state.ts';

/** The outcome of sending an action, which stays owed after `later` and `signed_out`. */
export type Sent =
  | { readonly kind: 'done'; readonly status: string; readonly sequence: number }
  | ({ readonly kind: 'refused' } & Refusal)
  | { readonly kind: 'signed_out' }
  | { readonly kind: 'later' };

/** Why the service does not take an action. */
export type Refusal = {
  /** One of the service's error codes; null where it names none. */
  readonly code: string | null;
  /** The service's sentence. */
  readonly message: string;
  /** Seconds after which it may be done again, where the service says so. */
  readonly retryAfterSeconds: number | null;
};

/** The storage of actions, which outlives the page. */
export type ActionStore = {
  /** In the order of their numbers. */
  all(): Promise<Action[]>;
  add(action: Action): Promise<void>;
  remove(id: string): Promise<void>;
};

export type QueueListener = {
  /** The waiting actions changed. */
  changed(): void;
  done(action: Action, progress: Progress): void;
  refused(action: Action, refusal: Refusal): void;
  signedOut(): void;
  /** The phone's storage refused the action. It is still sent, but would be lost with the page. */
  notKept(): void;
};

const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 30_000;

/**
 * The actions of a driver that the service has not answered, sent one at a time in the order in which they
 * were done. One that cannot be sent is tried again with growing pauses, and at once on `wake`; the others
 * wait, because each may need the one before. There are never more than the orders carried have steps, since
 * the next order comes over the network.
 */
export class ActionQueue {
  readonly #store: ActionStore;
  readonly #send: (action: Action, signal: AbortSignal) => Promise<Sent>;
  readonly #listener: QueueListener;
  readonly #random: () => number;
  #actions: Action[] = [];
  #failures = 0;
  #running = false;
  #sending: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopped = true;

  constructor(
    store: ActionStore,
    send: (action: Action, signal: AbortSignal) => Promise<Sent>,
    listener: QueueListener,
    random: () => number = Math.random,
  ) {
    this.#store = store;
    this.#send = send;
    this.#listener = listener;
    this.#random = random;
  }

  get waiting(): readonly Action[] {
    return this.#actions;
  }

  /** Loads the actions that an earlier page left and begins to send. */
  async start(): Promise<void> {
    // The driver can go on without a readable storage.
    this.#actions = await this.#store.all().catch(() => []);
    this.#stopped = false;
    this.#listener.changed();
    this.wake();
  }

  /** Stops sending; waiting actions are kept. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#sending?.abort();
  }

  /** Stores the action, then sends it in its turn. Resolves when it is stored, not when it is sent. */
  async add(action: Omit<Action, 'number'>): Promise<void> {
    const numbered = { ...action, number: (this.#actions.at(-1)?.number ?? 0) + 1 };
    this.#actions.push(numbered);
    this.#listener.changed();
    await this.#store.add(numbered).catch(() => this.#listener.notKept());
    this.wake();
  }

  /** Tries now and resets the pauses, as the network may be back. */
  wake(): void {
    this.#failures = 0;
    void this.#run();
  }

  /** Aborts the request in flight: without a network it gets no answer, and would delay the next attempt. */
  interrupt(): void {
    this.#sending?.abort();
  }

  /** Drops all waiting actions. */
  async clear(): Promise<void> {
    const ids = this.#actions.map(({ id }) => id);
    this.#actions = [];
    this.#listener.changed();
    for (const id of ids) await this.#store.remove(id).catch(() => {});
  }

  async #run(): Promise<void> {
    if (this.#running || this.#stopped) return;
    clearTimeout(this.#timer);
    this.#running = true;
    let goesOn = true;
    while (goesOn && !this.#stopped) {
      const next = this.#actions[0];
      goesOn = next !== undefined && (await this.#apply(next, await this.#sendOne(next)));
    }
    this.#running = false;
  }

  async #sendOne(action: Action): Promise<Sent> {
    this.#sending = new AbortController();
    try {
      return await this.#send(action, this.#sending.signal);
    } finally {
      this.#sending = null;
    }
  }

  /** Applies an outcome; true where the next action may be sent. */
  async #apply(action: Action, sent: Sent): Promise<boolean> {
    if (sent.kind === 'later') {
      this.#retryLater();
      return false;
    }
    if (sent.kind === 'signed_out') {
      this.stop();
      this.#listener.signedOut();
      return false;
    }
    this.#failures = 0;
    this.#actions = this.#actions.filter(({ id }) => id !== action.id);
    // Told before the change, so that the page never shows an action as neither sent nor waiting.
    if (sent.kind === 'done') this.#listener.done(action, { orderId: action.orderId, ...sent });
    else this.#listener.refused(action, sent);
    this.#listener.changed();
    await this.#store.remove(action.id).catch(() => {});
    return true;
  }

  #retryLater(): void {
    if (this.#stopped) return;
    const ceiling = Math.min(RETRY_FIRST_MS * 2 ** this.#failures, RETRY_MAX_MS);
    this.#failures += 1;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#run(), ceiling * (0.5 + this.#random() / 2));
  }
}

/**
 * Statuses for which an action is sent again, besides every one from 500: time-outs and too many requests.
 */
const NOT_NOW = new Set([408, 425, 429]);
/** Of 429 the one that lasts for an hour or more: the driver keeps the order, and is told why. */
const TOO_MANY_RELEASES: ErrorCode = 'too_many_releases';

/**
 * What a reply means for the action. Only the service's own replies count: a hotel's sign-in page or a proxy
 * may answer with any status, and must not make a phone drop what its driver did.
 *
 * @param retryAfterSeconds the reply's `Retry-After`, where it has one
 */
export function meaningOf(status: number, body: unknown, retryAfterSeconds: number | null = null): Sent {
  const reply = asObject(body);
  const code = asObject(reply?.error)?.code;
  const lasts = code === TOO_MANY_RELEASES;
  const isLater = status >= 500 || (NOT_NOW.has(status) && !lasts);
  if (typeof reply?.success !== 'boolean' || isLater) return { kind: 'later' };
  if (status === 401) return { kind: 'signed_out' };
  const order = asObject(reply.order);
  if (reply.success && typeof order?.status === 'string' && typeof order.sequence === 'number') {
    return { kind: 'done', status: order.status, sequence: order.sequence };
  }
  if (reply.success || status < 400) return { kind: 'later' };
  return { kind: 'refused', code: textOf(code), message: textOf(reply.message) ?? '', retryAfterSeconds };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function asObject(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
}
