import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';

type Timer = { readonly seq: number; atMs: number; readonly everyMs: number | null; readonly run: () => void };

const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  clearImmediate: globalThis.clearImmediate,
  dateNow: Date.now,
  delay: timersPromises.setTimeout,
  nextTurn: timersPromises.setImmediate,
};

/**
 * A clock that stands still until it is moved, in place of the timers and clocks of this Node process. What is
 * under way by `setImmediate` is counted, so that one can wait for its end; other I/O is real.
 */
export class VirtualTime {
  nowMs: number;
  readonly #timers = new Map<number, Timer>();
  #seq = 0;
  readonly #immediates = new Set<NodeJS.Immediate>();

  /** @param nowMs milliseconds since 1970 */
  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  /** Takes the place of the process's timers and clocks, until {@link VirtualTime.restore}. */
  install(): void {
    const beganMs = this.nowMs;
    const begin = (run: () => void, everyMs: number | null, ms = 0) => this.#handle(this.#add(run, ms, everyMs));
    const end = (handle: unknown) => this.#end(handle);
    Object.assign(globalThis, {
      setTimeout: (run: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) =>
        begin(() => run(...args), null, ms),
      setInterval: (run: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) => begin(() => run(...args), ms, ms),
      clearTimeout: end,
      clearInterval: end,
      setImmediate: (run: (...args: unknown[]) => void, ...args: unknown[]) => this.#soon(() => run(...args)),
      clearImmediate: (immediate: NodeJS.Immediate) => {
        this.#immediates.delete(immediate);
        real.clearImmediate(immediate);
      },
    });
    Object.defineProperty(performance, 'now', { configurable: true, value: () => this.nowMs - beganMs });
    Date.now = () => this.nowMs;
    Object.assign(timersPromises, {
      setTimeout: (ms?: number, value?: unknown) =>
        new Promise((resolve) => void this.#add(() => resolve(value), ms ?? 0, null)),
      setImmediate: (value?: unknown) => new Promise((resolve) => void this.#soon(() => resolve(value))),
    });
    syncBuiltinESMExports();
  }

  restore(): void {
    const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } = real;
    Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate });
    Reflect.deleteProperty(performance, 'now');
    Date.now = real.dateNow;
    Object.assign(timersPromises, { setTimeout: real.delay, setImmediate: real.nextTurn });
    syncBuiltinESMExports();
    this.#timers.clear();
  }

  /** Does something after `ms` of virtual time. */
  after(ms: number, run: () => void): void {
    this.#add(run, ms, null);
  }

  /** When the next timer is due; undefined without one. */
  nextDueMs(): number | undefined {
    return this.#next()?.atMs;
  }

  /** Moves the clock to the next timer, if it is due by `untilMs`, and runs it. False where none is. */
  runNext(untilMs: number): boolean {
    const timer = this.#next();
    if (!timer || timer.atMs > untilMs) return false;
    this.nowMs = Math.max(this.nowMs, timer.atMs);
    if (timer.everyMs === null) this.#timers.delete(timer.seq);
    else timer.atMs = this.nowMs + Math.max(1, timer.everyMs);
    timer.run();
    return true;
  }

  /** Resolves when nothing is left to run in this turn of the event loop and those that follow by themselves. */
  async turns(): Promise<void> {
    do await new Promise<void>((resolve) => real.setImmediate(resolve));
    while (this.#immediates.size > 0);
  }

  /** Of timers that are due at once the one that was set first. */
  #next(): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers.values()) {
      if (!next || timer.atMs < next.atMs) next = timer;
    }
    return next;
  }

  #add(run: () => void, ms: number, everyMs: number | null): number {
    const seq = ++this.#seq;
    const delayMs = Number.isFinite(ms) ? Math.max(0, Math.ceil(ms)) : 0;
    this.#timers.set(seq, { seq, atMs: this.nowMs + delayMs, everyMs, run });
    return seq;
  }

  #handle(seq: number): object {
    const handle = {
      seq,
      ref: () => handle,
      unref: () => handle,
      hasRef: () => false,
      refresh: () => handle,
      close: () => this.#end(handle),
      [Symbol.toPrimitive]: () => seq,
    };
    return handle;
  }

  /** A timer of before is the real one's. */
  #end(handle: unknown): void {
    const seq = (handle as { readonly seq?: unknown } | null)?.seq;
    if (typeof seq === 'number') this.#timers.delete(seq);
    else if (handle) real.clearTimeout(handle as NodeJS.Timeout);
  }

  #soon(run: () => void): NodeJS.Immediate {
    const immediate = real.setImmediate(() => {
      this.#immediates.delete(immediate);
      run();
    });
    this.#immediates.add(immediate);
    return immediate;
  }
}
