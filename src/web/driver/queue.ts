import type { ErrorCode } from '../../domain/errors.ts';
import { Lane, type Sent } from './lane.ts';
import type { Action, Progress } from './state.ts';

/**
 * Longest time for which the phone's storage is waited for: some phones leave a page without an answer for half an
 * hour. A slow one writes a photo within a second.
 */
export const STORAGE_MS = 5_000;

/** The storage of actions, which outlives the page. */
export type ActionStore = {
  /** In the order of their numbers, those that it refused too; what cannot be read is left out. May never answer. */
  all(): Promise<Action[]>;
  /** What this page added and did not remove. */
  added(): Action[];
  /** Adds the action, or changes the one with its id. What it refuses is there until the page is closed. */
  add(action: Action): Promise<void>;
  /** False for an action that would be lost with the page. */
  isKept(id: string): boolean;
  remove(id: string): Promise<void>;
};

export type QueueListener = {
  /** The waiting or the refused actions changed. */
  changed(): void;
  done(action: Action, progress: Progress): void;
  refused(action: Action): void;
  signedOut(): void;
};

export type Sending = {
  send(action: Action, signal: AbortSignal): Promise<Sent>;
  /** The same photo in about `mostBytes`; null where it is as small as it may be. */
  shrink(photo: ArrayBuffer, mostBytes: number): Promise<ArrayBuffer | null>;
};

/** A photo that was too slow is sent in a third of its bytes, so that two tries find what gets through. */
const SMALLER = 3;

/**
 * The actions of a driver that the service has not answered. Those on one order are sent in the order in which
 * they were done, each when the one before it is answered, as it may need that. Photos are sent beside the other
 * actions, which are small, so that a weak network that takes a minute for a photo holds no pickup up. What cannot
 * be sent is tried again with growing pauses, and at once on `wake`; a photo that is on its way for too long is made
 * smaller before, and so are the next ones until they get through. There are never more actions than the orders
 * carried have steps, since the next order comes over the network.
 *
 * What the service refuses stays until the driver has seen why, and what another driver did on this phone stays
 * until that one signs in again.
 */
export class ActionQueue {
  readonly #store: ActionStore;
  readonly #listener: QueueListener;
  readonly #lanes: readonly Lane[];
  /** All that is stored on this phone. */
  #actions: Action[] = [];
  #driverId: string | null;
  /** Bytes of a photo that are expected to get through. */
  #mostBytes = Number.POSITIVE_INFINITY;
  #isLoaded = false;
  #stopped = false;

  /** @param driverId null where it is not known yet, see `isOf` */
  constructor(
    store: ActionStore,
    sending: Sending,
    listener: QueueListener,
    driverId: string | null,
    random: () => number = Math.random,
  ) {
    this.#store = store;
    this.#listener = listener;
    this.#driverId = driverId;
    const lane = (hasPhoto: boolean) =>
      new Lane({
        next: () => (this.#stopped || !this.#isLoaded ? null : this.#nextOf(hasPhoto)),
        send: async (action, signal) => sending.send(await this.#fitted(action, sending), signal),
        apply: (action, sent) => this.#apply(action, sent),
        random,
      });
    this.#lanes = [lane(false), lane(true)];
  }

  /** What the driver did and the service has not answered, the oldest first. */
  get waiting(): readonly Action[] {
    return this.#mine.filter(({ refusal }) => refusal === undefined);
  }

  /** What the service refused, the oldest first. */
  get refused(): readonly Action[] {
    return this.#mine.filter(({ refusal }) => refusal !== undefined);
  }

  /** Whether something waits that would be lost with the page. */
  get isUnkept(): boolean {
    return this.waiting.some(({ id }) => !this.#store.isKept(id));
  }

  get #mine(): readonly Action[] {
    return this.#actions.filter(({ driverId = null }) => driverId === null || driverId === this.#driverId);
  }

  /**
   * Loads the actions that an earlier page left and begins to send. Where the storage does not answer in time, only
   * what was done in this page is sent until it does.
   */
  async start(): Promise<void> {
    const reading = this.#store.all().then((stored) => this.#load(stored));
    const late = new Promise<void>((resolve) => setTimeout(resolve, STORAGE_MS));
    await Promise.race([reading, late.then(() => this.#isLoaded || this.#load(this.#store.added()))]);
  }

  #load(stored: readonly Action[]): void {
    // The driver may have done something meanwhile.
    const later = this.#actions;
    this.#actions = [...stored.filter(({ id }) => !later.some((action) => action.id === id)), ...later];
    this.#isLoaded = true;
    this.#listener.changed();
    this.wake();
  }

  /** Says who the driver is, which the service tells after a sign-in by link. */
  isOf(driverId: string | null): void {
    if (driverId === null || driverId === this.#driverId) return;
    this.#driverId = driverId;
    this.#listener.changed();
    this.wake();
  }

  /** Stops sending; waiting actions are kept. */
  stop(): void {
    this.#stopped = true;
    for (const lane of this.#lanes) lane.stop();
  }

  /** Sends the action in its turn, whether the storage answers or not. Resolves when it is stored or refused there. */
  async add(action: Omit<Action, 'number' | 'driverId'>): Promise<void> {
    // The time, as it is above the numbers that are not read yet.
    const number = Math.max(Date.now(), (this.#actions.at(-1)?.number ?? 0) + 1);
    const numbered = { ...action, number, driverId: this.#driverId };
    this.#actions.push(numbered);
    this.#listener.changed();
    const kept = this.#keep(numbered);
    this.wake();
    await kept;
  }

  /** Tries now and resets the pauses, as the network may be back. */
  wake(): void {
    for (const lane of this.#lanes) lane.wake();
  }

  /** Aborts what is on its way: without a network it gets no answer, and would delay the next attempt. */
  interrupt(): void {
    for (const lane of this.#lanes) lane.interrupt();
  }

  /** Drops a refused action that the driver has seen. */
  async dismiss(id: string): Promise<void> {
    this.#actions = this.#actions.filter((action) => action.id !== id);
    this.#listener.changed();
    await this.#store.remove(id).catch(() => {});
  }

  /** The oldest one that no earlier one on its order holds up. */
  #nextOf(hasPhoto: boolean): Action | null {
    const held = new Set<string>();
    for (const action of this.waiting) {
      if (!held.has(action.orderId) && (action.photo !== null) === hasPhoto) return action;
      held.add(action.orderId);
    }
    return null;
  }

  /** Applies an outcome; true where the next action may be sent, which waits for no storage. */
  #apply(action: Action, sent: Sent): boolean {
    const { byteLength = 0 } = this.#actions.find(({ id }) => id === action.id)?.photo ?? {};
    if (sent.kind === 'later') {
      if (sent.isSlow && byteLength > 0) this.#mostBytes = byteLength / SMALLER;
      return false;
    }
    // The network may be better by now.
    if (byteLength > 0) this.#mostBytes *= 2;
    if (sent.kind === 'signed_out') {
      this.stop();
      this.#listener.signedOut();
      return false;
    }
    if (sent.kind === 'refused') {
      const { code, message, retryAfterSeconds } = sent;
      const refused = { ...action, refusal: { code, message, retryAfterSeconds } };
      this.#change(refused);
      this.#listener.refused(refused);
    } else {
      // Told before the change, so that the page never shows an action as neither sent nor waiting.
      this.#actions = this.#actions.filter(({ id }) => id !== action.id);
      this.#listener.done(action, { orderId: action.orderId, ...sent });
      void this.#store.remove(action.id).catch(() => {});
    }
    this.#listener.changed();
    // What was held up by it may be of the other kind.
    for (const lane of this.#lanes) lane.go();
    return true;
  }

  /** The action with a photo that is expected to get through. */
  async #fitted(action: Action, { shrink }: Sending): Promise<Action> {
    const photo =
      action.photo && action.photo.byteLength > this.#mostBytes ? await shrink(action.photo, this.#mostBytes) : null;
    if (!photo) return action;
    const fitted = { ...action, photo };
    this.#change(fitted);
    return fitted;
  }

  #change(action: Action): void {
    this.#actions = this.#actions.map((each) => (each.id === action.id ? action : each));
    void this.#keep(action);
  }

  async #keep(action: Action): Promise<void> {
    await this.#store.add(action).catch(() => this.#listener.changed());
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
