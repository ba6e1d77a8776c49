import type { RequestSignal } from './route.ts';

/** The signal of one request, raised once: its reply was handed over, or nobody waits for one. */
export class AbortNotice implements RequestSignal {
  #end: 'aborted' | 'answered' | null = null;
  #listeners: { readonly end: 'aborted' | 'answered'; readonly listener: () => void }[] = [];

  get aborted(): boolean {
    return this.#end === 'aborted';
  }

  onAbort(listener: () => void): void {
    this.#on('aborted', listener);
  }

  onAnswered(listener: () => void): void {
    this.#on('answered', listener);
  }

  abort(): void {
    this.#ends('aborted');
  }

  answered(): void {
    this.#ends('answered');
  }

  #on(end: 'aborted' | 'answered', listener: () => void): void {
    if (this.#end === end) listener();
    else if (this.#end === null) this.#listeners.push({ end, listener });
  }

  #ends(how: 'aborted' | 'answered'): void {
    if (this.#end !== null) return;
    this.#end = how;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const { end, listener } of listeners) if (end === how) listener();
  }
}
