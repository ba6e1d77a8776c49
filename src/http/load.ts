/** Counts the requests of one server: all of them, to know when the last is done, and those at work, to bound them. */
export class Load {
  readonly #maxWorking: number;
  #present = 0;
  #working = 0;
  #onIdle: (() => void)[] = [];

  constructor(maxWorking: number) {
    this.#maxWorking = maxWorking;
  }

  /** Requests whose reply or whose work is not done. */
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
  begin(): boolean {
    if (this.#working >= this.#maxWorking) return false;
    this.#working++;
    return true;
  }

  end(): void {
    this.#working--;
  }

  /** Resolves when no request is left, at the latest after `ms`; true where none is left. */
  async idle(ms: number): Promise<boolean> {
    if (this.#present === 0) return true;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([new Promise<void>((resolve) => this.#onIdle.push(resolve)), timeout]);
    clearTimeout(timer);
    return this.#present === 0;
  }
}

/**
 * Lets requests begin their work in slices of time, first come, first served. All sockets that have something to read are
 * read in one turn of the event loop, and were every request that comes with them worked on at once, no answer of the
 * database would be heard meanwhile: what is behind starves just when there is most to do. Between two slices is either
 * the rest of a turn or, where a turn goes on and on, as much time as a slice has.
 */
export class Intake {
  readonly #sliceMs: number;
  readonly #max: number;
  readonly #behind: () => number;
  readonly #waiting: (() => void)[] = [];
  #endMs = Number.NEGATIVE_INFINITY;
  #isTurnKnown = false;

  /**
   * @param sliceMs for how long requests begin
   * @param max how many may wait here and behind
   * @param behind how many wait behind, where work is slower than it begins; who waits for others, as for a charge, is none
   */
  constructor(sliceMs: number, max: number, behind: () => number) {
    this.#sliceMs = sliceMs;
    this.#max = max;
    this.#behind = behind;
  }

  /** Whether one more would be refused. To be asked for every request: where a turn goes on, those who wait begin. */
  isFull(): boolean {
    if (this.#waiting.length > 0 && performance.now() >= this.#endMs + this.#sliceMs) void this.#serve();
    return this.#waiting.length + this.#behind() >= this.#max;
  }

  /** Resolves when the request may begin, at once where nobody waits and there is time; null where it is full. */
  enter(): Promise<void> | null {
    if (this.isFull()) return null;
    if (this.#waiting.length === 0 && this.#hasTime()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async #serve(): Promise<void> {
    while (this.#waiting.length > 0 && this.#hasTime()) {
      this.#waiting.shift()?.();
      // It begins before this goes on.
      await Promise.resolve();
    }
  }

  #hasTime(): boolean {
    const nowMs = performance.now();
    if (nowMs >= this.#endMs + this.#sliceMs) this.#endMs = nowMs + this.#sliceMs;
    if (!this.#isTurnKnown) {
      this.#isTurnKnown = true;
      // Runs once every socket that had something to read has been served.
      setImmediate(() => {
        this.#isTurnKnown = false;
        this.#endMs = Number.NEGATIVE_INFINITY;
        void this.#serve();
      });
    }
    return nowMs < this.#endMs;
  }
}
