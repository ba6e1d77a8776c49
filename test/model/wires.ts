import type { VirtualTime } from './virtual-time.ts';

/** How long a notice takes to another process, in milliseconds. */
const NOTICE_MS = 2;

type Listener = { readonly hear: (payload: string) => void; readonly listening: () => void };

/**
 * The line on which one process hears notices. They come in the order of their commits; while the line is slow
 * they come late, while it is down they are lost, and when it is back the process is told that it listens anew.
 */
export class NoticeLine {
  readonly #time: VirtualTime;
  #listener: Listener | undefined;
  #readyMs = 0;
  #onTheWay = 0;
  #isDown = false;
  #lateMs = 0;
  #doubles = 0;
  /** When a notice was last late or lost, or a line came back. */
  troubledMs = Number.NEGATIVE_INFINITY;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** As `sql.listen` of the client. */
  readonly listen = async (_channel: string, hear: (payload: string) => void, listening: () => void) => {
    this.#listener = { hear, listening };
    listening();
    return { unlisten: async () => undefined };
  };

  get isQuiet(): boolean {
    return this.#onTheWay === 0 && !this.#isDown;
  }

  send(payload: string): void {
    if (this.#isDown) return;
    this.#deliver(payload, this.#lateMs);
    if (this.#doubles > 0) {
      this.#doubles--;
      this.#deliver(payload, this.#lateMs + 500);
    }
  }

  /** From now on notices come so much later. */
  slowDown(ms: number): void {
    this.#lateMs = ms;
    this.troubledMs = this.#time.nowMs;
  }

  /** The next notices come twice. */
  double(times: number): void {
    this.#doubles = times;
  }

  cut(): void {
    this.#isDown = true;
    this.troubledMs = this.#time.nowMs;
  }

  mend(): void {
    if (this.#lateMs > 0) this.troubledMs = this.#time.nowMs;
    this.#lateMs = 0;
    this.#doubles = 0;
    if (!this.#isDown) return;
    this.#isDown = false;
    this.troubledMs = this.#time.nowMs;
    this.#listener?.listening();
  }

  #deliver(payload: string, lateMs: number): void {
    const atMs = Math.max(this.#readyMs, this.#time.nowMs + NOTICE_MS + lateMs);
    this.#readyMs = atMs;
    this.#onTheWay++;
    this.#time.after(atMs - this.#time.nowMs, () => {
      this.#onTheWay--;
      if (lateMs > 0) this.troubledMs = this.#time.nowMs;
      if (!this.#isDown) this.#listener?.hear(payload);
    });
  }
}
