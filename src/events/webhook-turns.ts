import { Tally } from '../domain/tally.ts';
import { below, MAX_WEBHOOKS_PER_ENDPOINT, WEBHOOK_CONCURRENCY, WEBHOOK_TIMEOUT_MS } from '../limits.ts';

/** Webhooks of one store sent at once. Below WEBHOOK_CONCURRENCY: its slow receivers delay only their own. */
export const MAX_WEBHOOKS_PER_STORE = 16;
/** Answers that take this long make a receiver count as slow until one takes less. Below WEBHOOK_TIMEOUT_MS. */
export const WEBHOOK_SLOW_MS = 1_000;
/** Webhooks to slow receivers sent at once. Below WEBHOOK_CONCURRENCY: half of the places are for quick ones. */
export const MAX_SLOW_WEBHOOKS = WEBHOOK_CONCURRENCY / 2;
/** Those of one store: an eighth of all places. Below MAX_SLOW_WEBHOOKS. */
export const MAX_SLOW_WEBHOOKS_PER_STORE = 8;
/**
 * Webhooks that wait for a place, one of each endpoint; further ones are parked. With MAX_SLOW_WEBHOOKS below
 * WEBHOOK_CONCURRENCY, so that what waits for slow receivers keeps no worker from quick ones.
 */
export const MAX_WEBHOOKS_IN_LINE = 16;
/** Receivers whose last answer's time a worker remembers, 100 bytes each. */
const RECEIVERS_REMEMBERED = 10_000;
/** Parked deliveries that an accepted one releases, so that a backlog that moves has twice as many each time. */
const WEBHOOKS_RELEASED = 2;

below({ MAX_WEBHOOKS_PER_STORE }, { WEBHOOK_CONCURRENCY });
below({ MAX_WEBHOOKS_PER_ENDPOINT }, { MAX_WEBHOOKS_PER_STORE });
below({ WEBHOOK_SLOW_MS }, { WEBHOOK_TIMEOUT_MS });
below({ MAX_SLOW_WEBHOOKS }, { WEBHOOK_CONCURRENCY });
below({ MAX_SLOW_WEBHOOKS_PER_STORE }, { MAX_SLOW_WEBHOOKS });
below(
  { 'MAX_SLOW_WEBHOOKS + MAX_WEBHOOKS_IN_LINE': MAX_SLOW_WEBHOOKS + MAX_WEBHOOKS_IN_LINE },
  { WEBHOOK_CONCURRENCY },
);

/** The receiver of a delivery: a webhook, and the store or organization whose it is. */
export type Receiver = { readonly id: string; readonly ownerId: string };

/** A place that a delivery has taken. */
export type Turn = {
  /** Whether the delivery has waited in line for it. */
  readonly hasWaited: boolean;
  /** Notes how long the receiver took to answer. */
  answered(tookMs: number): void;
  /** How many of the deliveries that are parked behind the receiver may follow this one, if it was accepted. */
  follows(): number;
  /** Gives the place back, once. */
  end(): void;
};

type Speed = 'unknown' | 'quick' | 'slow';
type Waiter = { readonly receiver: Receiver; readonly begin: () => void };

/**
 * The places of a worker for webhooks under way, WEBHOOK_CONCURRENCY, and who gets them.
 *
 * Slow receivers, whose last answer took WEBHOOK_SLOW_MS, have MAX_SLOW_WEBHOOKS of them together and
 * MAX_SLOW_WEBHOOKS_PER_STORE of an owner, so that quick ones always find places that are free again soon. One
 * whose speed is not known has a single place. While all places are taken a delivery of each receiver waits in
 * line; a place that becomes free goes to the owner with the fewest under way, and then to who came first.
 */
export class WebhookTurns {
  readonly #ofReceiver = new Tally();
  readonly #ofOwner = new Tally();
  readonly #slowOfOwner = new Tally();
  #running = 0;
  #slow = 0;
  #line: Waiter[] = [];
  /** Whether the last answer was quick, the receiver that answered last at the end. */
  readonly #wasQuick = new Map<string, boolean>();

  /** Resolves when a delivery may begin; null, at once, where it has to be parked. */
  async take(receiver: Receiver): Promise<Turn | null> {
    if (!this.#hasShare(receiver)) return null;
    if (this.#hasPlace(receiver)) return this.#begin(receiver, false);
    if (this.#line.length >= MAX_WEBHOOKS_IN_LINE || this.#line.some((each) => each.receiver.id === receiver.id)) {
      return null;
    }
    return new Promise((resolve) => {
      this.#line.push({ receiver, begin: () => resolve(this.#begin(receiver, true)) });
    });
  }

  /** Whether its receiver and its owner may have one more under way. */
  #hasShare(receiver: Receiver): boolean {
    return (
      this.#ofReceiver.of(receiver.id) < this.#mostOf(receiver) &&
      this.#ofOwner.of(receiver.ownerId) < MAX_WEBHOOKS_PER_STORE &&
      (this.#speedOf(receiver) !== 'slow' || this.#slowOfOwner.of(receiver.ownerId) < MAX_SLOW_WEBHOOKS_PER_STORE)
    );
  }

  #mostOf(receiver: Receiver): number {
    return this.#speedOf(receiver) === 'unknown' ? 1 : MAX_WEBHOOKS_PER_ENDPOINT;
  }

  #hasPlace(receiver: Receiver): boolean {
    return (
      this.#running < WEBHOOK_CONCURRENCY && (this.#speedOf(receiver) !== 'slow' || this.#slow < MAX_SLOW_WEBHOOKS)
    );
  }

  #speedOf({ id }: Receiver): Speed {
    const wasQuick = this.#wasQuick.get(id);
    if (wasQuick === undefined) return 'unknown';
    return wasQuick ? 'quick' : 'slow';
  }

  #begin(receiver: Receiver, hasWaited: boolean): Turn {
    const isSlow = this.#speedOf(receiver) === 'slow';
    this.#count(receiver, isSlow, 1);
    return {
      hasWaited,
      answered: (tookMs) => this.#remember(receiver, tookMs),
      follows: () => {
        // Its own place is counted among those that are taken.
        const free = 1 + this.#mostOf(receiver) - this.#ofReceiver.of(receiver.id);
        return Math.max(1, Math.min(free, this.#line.length > 0 ? 1 : WEBHOOKS_RELEASED));
      },
      end: () => {
        this.#count(receiver, isSlow, -1);
        this.#admit();
      },
    };
  }

  #count({ id, ownerId }: Receiver, isSlow: boolean, change: 1 | -1): void {
    this.#running += change;
    this.#ofReceiver.add(id, change);
    this.#ofOwner.add(ownerId, change);
    if (!isSlow) return;
    this.#slow += change;
    this.#slowOfOwner.add(ownerId, change);
  }

  #remember({ id }: Receiver, tookMs: number): void {
    this.#wasQuick.delete(id);
    this.#wasQuick.set(id, tookMs < WEBHOOK_SLOW_MS);
    const [oldest] = this.#wasQuick.keys();
    if (this.#wasQuick.size > RECEIVERS_REMEMBERED && oldest !== undefined) this.#wasQuick.delete(oldest);
  }

  /** Gives free places to those in line. */
  #admit(): void {
    for (;;) {
      const next = this.#line
        .filter(({ receiver }) => this.#hasShare(receiver) && this.#hasPlace(receiver))
        .reduce<Waiter | null>(
          (first, each) => (first && this.#takenBy(first) <= this.#takenBy(each) ? first : each),
          null,
        );
      if (next === null) return;
      this.#line = this.#line.filter((each) => each !== next);
      next.begin();
    }
  }

  #takenBy({ receiver }: Waiter): number {
    return this.#ofOwner.of(receiver.ownerId);
  }
}
