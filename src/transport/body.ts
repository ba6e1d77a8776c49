import type { HttpResponse } from 'uWebSockets.js';

/** Bytes of request bodies that the whole process may hold at once. */
export class BodyBudget {
  readonly #limit: number;
  #held = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether `bytes` more fit; if so they are held until they are given back. */
  take(bytes: number): boolean {
    if (this.#held + bytes > this.#limit) return false;
    this.#held += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#held -= bytes;
  }

  get held(): number {
    return this.#held;
  }
}

/** What became of a body; `no_room` where the process holds too many bytes already, `gone` where the client left. */
export type BodyOutcome =
  | { readonly kind: 'complete'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' | 'no_room' | 'gone' };

/**
 * Collects a request's body. It keeps at most `maxBytes`, and before `admit` at most `maxUnauthenticatedBytes`, after
 * which it pauses the upload. What is refused is no longer kept, only counted.
 */
export class BodyReader {
  readonly outcome: Promise<BodyOutcome>;
  readonly #response: HttpResponse;
  readonly #budget: BodyBudget;
  readonly #maxBytes: number;
  readonly #maxUnauthenticatedBytes: number;
  readonly #chunks: Buffer[] = [];
  #settle: (outcome: BodyOutcome) => void = () => {};
  #kept = 0;
  #settled = false;
  #admitted = false;
  #paused = false;
  #received = 0;

  constructor(response: HttpResponse, budget: BodyBudget, maxBytes: number, maxUnauthenticatedBytes: number) {
    this.#response = response;
    this.#budget = budget;
    this.#maxBytes = maxBytes;
    this.#maxUnauthenticatedBytes = maxUnauthenticatedBytes;
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve;
    });
    response.onData((chunk, isLast) => this.#take(chunk, isLast));
  }

  /** Bytes that have arrived, kept or not. */
  get received(): number {
    return this.#received;
  }

  /** The sender is known: from now on up to `maxBytes` are kept. Not to be called once the response is over. */
  admit(): void {
    this.#admitted = true;
    this.resume();
  }

  /** Lets a paused upload flow again; needed before a reply too, or the connection would stay paused for good. */
  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#response.resume();
  }

  /** The client is gone, or has been answered: nothing more will come. */
  abandon(): void {
    this.#finish({ kind: 'gone' });
  }

  /** Gives back the room the body took; to be called when nobody reads it any more. */
  release(): void {
    this.abandon();
    this.#chunks.length = 0;
    this.#budget.giveBack(this.#kept);
    this.#kept = 0;
  }

  /** `chunk` is the transport's memory and gone when this returns: hence the copy. */
  #take(chunk: ArrayBuffer, isLast: boolean): void {
    this.#received += chunk.byteLength;
    if (this.#settled) return;
    if (this.#received > this.#maxBytes) this.#refuse('too_large');
    else if (!this.#budget.take(chunk.byteLength)) this.#refuse('no_room');
    else this.#keep(chunk, isLast);
  }

  #keep(chunk: ArrayBuffer, isLast: boolean): void {
    this.#kept += chunk.byteLength;
    if (chunk.byteLength > 0) this.#chunks.push(Buffer.from(new Uint8Array(chunk)));
    if (isLast) this.#finish({ kind: 'complete', bytes: this.#join() });
    else if (!this.#admitted && !this.#paused && this.#received > this.#maxUnauthenticatedBytes) {
      this.#paused = true;
      this.#response.pause();
    }
  }

  #join(): Buffer {
    const [first, ...rest] = this.#chunks;
    return first && rest.length === 0 ? first : Buffer.concat(this.#chunks);
  }

  #refuse(kind: 'too_large' | 'no_room'): void {
    this.#finish({ kind });
    this.release();
  }

  #finish(outcome: BodyOutcome): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#settle(outcome);
  }
}
