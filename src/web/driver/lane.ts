import type { Action, Refusal } from './state.ts';

/** The outcome of sending an action, which stays owed after `later` and `signed_out`. */
export type Sent =
  | { readonly kind: 'done'; readonly status: string; readonly sequence: number }
  | ({ readonly kind: 'refused' } & Refusal)
  | { readonly kind: 'signed_out' }
  | {
      readonly kind: 'later';
      /** It was on its way for long and had no reply: less may get through. */
      readonly isSlow?: boolean;
    };

const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 30_000;

type LaneParts = {
  next(): Action | null;
  send(action: Action, signal: AbortSignal): Promise<Sent>;
  apply(action: Action, sent: Sent): boolean;
  random(): number;
};

/**
 * Sends one action at a time. What cannot be sent is tried again with growing pauses, and at once on `wake`.
 */
export class Lane {
  readonly #parts: LaneParts;
  #failures = 0;
  #running = false;
  #sending: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(parts: LaneParts) {
    this.#parts = parts;
  }

  wake(): void {
    this.#failures = 0;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.go();
  }

  /** Sends what there is, unless it waits to try again. */
  go(): void {
    if (this.#timer === undefined) void this.#run();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.interrupt();
  }

  interrupt(): void {
    this.#sending?.abort();
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    for (let next = this.#parts.next(); next !== null; next = this.#parts.next()) {
      const sent = await this.#sendOne(next);
      if (sent.kind !== 'later') this.#failures = 0;
      if (this.#parts.apply(next, sent)) continue;
      if (sent.kind === 'later') this.#goLater();
      break;
    }
    this.#running = false;
  }

  async #sendOne(action: Action): Promise<Sent> {
    this.#sending = new AbortController();
    try {
      return await this.#parts.send(action, this.#sending.signal);
    } finally {
      this.#sending = null;
    }
  }

  #goLater(): void {
    if (this.#parts.next() === null) return;
    const pauseMs = retryPauseMs(this.#failures, this.#parts.random());
    this.#failures += 1;
    const again = () => {
      this.#timer = undefined;
      void this.#run();
    };
    this.#timer = setTimeout(again, pauseMs);
  }
}

/** The pause before another try. @param failures how many pauses there were before it */
export function retryPauseMs(failures: number, random: number): number {
  const ceiling = Math.min(RETRY_FIRST_MS * 2 ** failures, RETRY_MAX_MS);
  return ceiling * (0.5 + random / 2);
}
