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
 * How long requests have been taken up in this turn of the event loop, without one of them waiting for anything. Those that
 * come last in a long turn have waited all that time unseen, in the kernel, and what they ask for makes the next turn longer.
 */
export class Turn {
  #beganMs: number | null = null;

  /** Counted from the first call of the turn. */
  tookMs(): number {
    const nowMs = performance.now();
    if (this.#beganMs === null) {
      this.#beganMs = nowMs;
      // Runs once every socket that had something to read has been served.
      setImmediate(() => {
        this.#beganMs = null;
      });
    }
    return nowMs - this.#beganMs;
  }
}
