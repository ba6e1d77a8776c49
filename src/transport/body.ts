import type { HttpResponse } from 'uWebSockets.js';
import type { HttpLimits } from './http-limits.ts';
import type { SharedPool } from './shares.ts';

/**
 * Largest room set aside in bytes for the rest of a body that comes in pieces. A piece for itself would take
 * 128 bytes beside its own.
 */
const BODY_BLOCK_BYTES = 64 * 1024;

/**
 * The bytes of bodies that the process holds at once: two pools, because slow senders of large bodies would
 * leave no room for small ones.
 */
export type BodyBudgets = { readonly small: SharedPool; readonly large: SharedPool };

/**
 * How a body ended: `no_room` where the process or its sender holds too many bytes already, `gone` where the
 * client left.
 */
export type BodyOutcome =
  | { readonly kind: 'complete'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' | 'no_room' | 'gone' };

/**
 * Collects a request's body, at most `maxBytes`. Before `admit` it pauses the upload after
 * `maxUnauthenticatedBytes`. A refused body is only counted.
 */
export class BodyReader {
  readonly outcome: Promise<BodyOutcome>;
  readonly maxBytes: number;
  readonly #response: HttpResponse;
  readonly #budget: SharedPool;
  readonly #maxUnauthenticatedBytes: number;
  readonly #blocks: Buffer[] = [];
  /** Bytes of the last block that hold nothing yet. */
  #free = 0;
  #resolve: (outcome: BodyOutcome) => void = () => {};
  #kept = 0;
  #isOver = false;
  /** Whose share of the budget the bytes are; null until they are let in. */
  #caller: string | null = null;
  #paused = false;
  #received = 0;

  static open(
    { limits, budgets }: { readonly limits: HttpLimits; readonly budgets: BodyBudgets },
    response: HttpResponse,
    maxBytes: number,
    budget?: keyof BodyBudgets,
  ): BodyReader {
    const unauthenticated = limits.maxUnauthenticatedBodyBytes;
    const bySize = maxBytes > unauthenticated ? 'large' : 'small';
    return new BodyReader(response, budgets[budget ?? bySize], maxBytes, unauthenticated);
  }

  private constructor(response: HttpResponse, budget: SharedPool, maxBytes: number, maxUnauthenticatedBytes: number) {
    this.#response = response;
    this.#budget = budget;
    this.maxBytes = maxBytes;
    this.#maxUnauthenticatedBytes = maxUnauthenticatedBytes;
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    response.onData((chunk, isLast) => this.#take(chunk, isLast));
  }

  /** Bytes that have arrived, kept or not. */
  get received(): number {
    return this.#received;
  }

  /** Whether some of it is still to come. */
  get isWaiting(): boolean {
    return !this.#isOver;
  }

  /**
   * Keeps up to `maxBytes` from now on, in the share of this caller, who is authenticated; false where it has
   * no room for what has arrived. Not to be called after the response.
   */
  admit(caller: string): boolean {
    if (!this.#budget.claim(caller, this.#kept)) return false;
    this.#caller = caller;
    this.resume();
    return true;
  }

  /** Resumes a paused upload, also before a reply, since the connection would stay paused for good. */
  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#response.resume();
  }

  /** Nothing more will come: the client is gone, or has been answered. */
  abandon(): void {
    this.#finish({ kind: 'gone' });
  }

  /** Gives back the room that the body took; to be called once nobody reads it. */
  release(): void {
    this.abandon();
    this.#blocks.length = 0;
    this.#free = 0;
    this.#budget.giveBack(this.#caller, this.#kept);
    this.#kept = 0;
  }

  /** What is kept of `chunk` is copied, since its memory is gone when this returns. */
  #take(chunk: ArrayBuffer, isLast: boolean): void {
    this.#received += chunk.byteLength;
    if (this.#isOver) return;
    if (this.#received > this.maxBytes) this.#refuse('too_large');
    else if (!this.#budget.take(this.#caller, chunk.byteLength)) this.#refuse('no_room');
    else this.#keep(chunk, isLast);
  }

  #keep(chunk: ArrayBuffer, isLast: boolean): void {
    this.#kept += chunk.byteLength;
    this.#append(new Uint8Array(chunk));
    if (isLast) this.#finish({ kind: 'complete', bytes: this.#join() });
    else if (this.#caller === null && !this.#paused && this.#received > this.#maxUnauthenticatedBytes) {
      this.#paused = true;
      this.#response.pause();
    }
  }

  /**
   * Puts a piece into the free bytes of the last block, and the rest into a new one: a Buffer for each piece
   * would take over a hundred bytes for each, and pieces may have one byte. The first is mostly the whole
   * body.
   */
  #append(piece: Uint8Array): void {
    const fitting = Math.min(piece.length, this.#free);
    const last = this.#blocks.at(-1);
    last?.set(piece.subarray(0, fitting), last.length - this.#free);
    this.#free -= fitting;
    const rest = piece.subarray(fitting);
    if (rest.length === 0) return;
    const room = last ? Math.min(this.#kept, BODY_BLOCK_BYTES) : 0;
    const block = Buffer.allocUnsafe(Math.max(rest.length, room));
    block.set(rest);
    this.#blocks.push(block);
    this.#free = block.length - rest.length;
  }

  #join(): Buffer {
    const [first, ...rest] = this.#blocks;
    return first && rest.length === 0 ? first : Buffer.concat(this.#blocks, this.#kept);
  }

  #refuse(kind: 'too_large' | 'no_room'): void {
    this.#finish({ kind });
    this.release();
  }

  #finish(outcome: BodyOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#resolve(outcome);
  }
}
