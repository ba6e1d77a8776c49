import type { Action, Progress } from './driver-state.ts';

/** What became of sending an action; after `later` and `signed_out` it is still owed. */
export type Sent =
  | { readonly kind: 'done'; readonly status: string; readonly sequence: number }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'signed_out' }
  | { readonly kind: 'later' };

/** Where actions are kept so that they outlive the page. */
export type ActionStore = {
  /** In the order of their numbers. */
  all(): Promise<Action[]>;
  add(action: Action): Promise<void>;
  remove(id: string): Promise<void>;
};

export type QueueListener = {
  /** The actions that wait are others than before. */
  changed(): void;
  done(action: Action, progress: Progress): void;
  refused(action: Action, message: string): void;
  signedOut(): void;
  /** The action is sent, but would be lost with the page: the phone's storage did not take it. */
  notKept(): void;
};

const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 30_000;

/**
 * The actions of a driver that the service has not answered, sent one after the other in the order in which they were
 * done. One that cannot be sent is tried again with growing pauses, and at once when told to `wake`; those behind it
 * wait, because each needs the one before. There are never more than an order has steps: the next order comes over the
 * network.
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

  /** Reads what an earlier page has left and begins to send. */
  async start(): Promise<void> {
    // A storage that cannot be read keeps nobody from working on.
    this.#actions = await this.#store.all().catch(() => []);
    this.#stopped = false;
    this.#listener.changed();
    this.wake();
  }

  /** Sends nothing more; what waits is kept. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#sending?.abort();
  }

  /** Keeps the action, then sends it in its turn. Resolves when it is kept, not when it is sent. */
  async add(action: Omit<Action, 'number'>): Promise<void> {
    const numbered = { ...action, number: (this.#actions.at(-1)?.number ?? 0) + 1 };
    this.#actions.push(numbered);
    this.#listener.changed();
    await this.#store.add(numbered).catch(() => this.#listener.notKept());
    this.wake();
  }

  /** The network may be back: tries now, and holdWhileAway again from the start. */
  wake(): void {
    this.#failures = 0;
    void this.#run();
  }

  /** The network is gone: what is on its way will not be answered, and would hold up the next try. */
  interrupt(): void {
    this.#sending?.abort();
  }

  /** Forgets everything that waits. */
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
      goesOn = next !== undefined && (await this.#settle(next, await this.#sendOne(next)));
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

  /** Whether the next one may be sent. */
  async #settle(action: Action, sent: Sent): Promise<boolean> {
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
    // Told before it leaves the list, so that nothing is shown in between that is neither sent nor waiting.
    if (sent.kind === 'done') this.#listener.done(action, { orderId: action.orderId, ...sent });
    else this.#listener.refused(action, sent.message);
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

/** Replies that say "not now": a time-out, too many requests. Beside them everything from 500 on. */
const NOT_NOW = new Set([408, 425, 429]);

/**
 * What a reply means for the action. Only the service's own words count: a hotel's sign-in page, or a proxy between,
 * answers with any status, and must not make a phone forget what its driver did.
 */
export function meaningOf(status: number, body: unknown): Sent {
  const reply = asObject(body);
  if (typeof reply?.success !== 'boolean' || status >= 500 || NOT_NOW.has(status)) return { kind: 'later' };
  if (status === 401) return { kind: 'signed_out' };
  const order = asObject(reply.order);
  if (reply.success && typeof order?.status === 'string' && typeof order.sequence === 'number') {
    return { kind: 'done', status: order.status, sequence: order.sequence };
  }
  if (reply.success || status < 400) return { kind: 'later' };
  return { kind: 'refused', message: typeof reply.message === 'string' ? reply.message : '' };
}

function asObject(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
}
