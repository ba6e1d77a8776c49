import { withTimeout } from '../with-timeout.ts';

/**
 * Counts a server's requests: all, so that a stop can wait for the last, and those at work, to bound them.
 */
export class RequestsInFlight {
  readonly #maxWorking: number;
  #present = 0;
  #working = 0;
  #onIdle: (() => void)[] = [];

  constructor(maxWorking: number) {
    this.#maxWorking = maxWorking;
  }

  /** Requests that are not answered, or whose work is not done. */
  get present(): number {
    return this.#present;
  }

  arrived(): void {
    this.#present++;
  }

  left(): void {
    this.#present--;
    if (this.#present > 0) return;
    const waiting = this.#onIdle;
    this.#onIdle = [];
    for (const resolve of waiting) resolve();
  }

  /** Whether one more authenticated request may start its work. */
  get hasRoom(): boolean {
    return this.#working < this.#maxWorking;
  }

  begin(): void {
    this.#working++;
  }

  end(): void {
    this.#working--;
  }

  /** Waits at most `ms` milliseconds until no request is left; false where some are. */
  async idle(ms: number): Promise<boolean> {
    if (this.#present === 0) return true;
    const idle = new Promise<void>((resolve) => this.#onIdle.push(resolve));
    await withTimeout(idle, ms, () => new Error('Some requests are still at work')).catch(() => undefined);
    return this.#present === 0;
  }
}
