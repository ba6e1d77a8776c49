import type { RequestSignal } from './route.ts';

/** Tells whoever works on a request that nobody waits for its reply any more. */
export class AbortNotice implements RequestSignal {
  #aborted = false;
  #listeners: (() => void)[] = [];

  get aborted(): boolean {
    return this.#aborted;
  }

  onAbort(listener: () => void): void {
    if (this.#aborted) listener();
    else this.#listeners.push(listener);
  }

  abort(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }
}
