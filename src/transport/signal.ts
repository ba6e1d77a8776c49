import type { RequestSignal } from './route.ts';

/**
 * The signal of one request, raised once if nobody waits for its reply, unless that was handed over before.
 */
export class AbortNotice implements RequestSignal {
  #end: 'aborted' | 'answered' | null = null;
  #listeners: (() => void)[] = [];

  get aborted(): boolean {
    return this.#end === 'aborted';
  }

  onAbort(listener: () => void): void {
    if (this.#end === 'aborted') listener();
    else if (this.#end === null) this.#listeners.push(listener);
  }

  abort(): void {
    if (this.#end !== null) return;
    this.#end = 'aborted';
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }

  /** The reply was handed to the connection; whether it arrives is not known. */
  answered(): void {
    this.#end ??= 'answered';
    this.#listeners = [];
  }
}
