import { below } from '../limits.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import { withTimeout } from '../with-timeout.ts';

/** Longest time for one part to close; then it is left behind. */
export const CLOSE_DEADLINE_MS = 3_000;
/** Longest time for all parts together. Below STOP_DEADLINE_MS, so that the process ends by itself. */
export const CLOSE_ALL_MS = 7_200;
/** Least time for one part, kept for it while those before it are slow: enough to send what it has begun. */
export const CLOSE_FLOOR_MS = 20;
/** Most parts of one process, which has up to 48: a floor for each must fit. */
export const MAX_PARTS = 60;

below({ 'CLOSE_FLOOR_MS of MAX_PARTS': CLOSE_FLOOR_MS * MAX_PARTS }, { CLOSE_DEADLINE_MS });
below({ CLOSE_DEADLINE_MS }, { CLOSE_ALL_MS });

/**
 * Closes parts, last in first out. A closer is added on the line after the part's constructor. Closing twice
 * is safe.
 */
export class Closers {
  readonly #closers: { readonly name: string; readonly close: () => unknown; readonly deadlineMs: number }[] = [];
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** @param deadlineMs longest wait for `close`, which goes on unawaited then; above its own time-outs */
  add(name: string, close: () => unknown, deadlineMs = CLOSE_DEADLINE_MS): void {
    if (this.#closers.length === MAX_PARTS) throw new RangeError(`${name} is one part more than MAX_PARTS`);
    this.#closers.push({ name, close, deadlineMs });
  }

  /**
   * Closes every part. Each has its own deadline, or else what the others leave of the common one, and at least
   * CLOSE_FLOOR_MS. A part that fails to close is logged.
   *
   * @param withinMs the common deadline in milliseconds; one that has passed leaves each part its floor
   */
  async closeAll(withinMs = CLOSE_ALL_MS): Promise<void> {
    const untilMs = performance.now() + withinMs;
    for (let closer = this.#closers.pop(); closer; closer = this.#closers.pop()) {
      const leftMs = untilMs - performance.now() - this.#closers.length * CLOSE_FLOOR_MS;
      await this.#close(closer.name, closer.close, Math.min(closer.deadlineMs, Math.max(leftMs, CLOSE_FLOOR_MS)));
    }
  }

  async #close(name: string, close: () => unknown, deadlineMs: number): Promise<void> {
    const late = () => Object.assign(new Error(`${name} did not close in time`), { code: 'CLOSE_LATE' });
    try {
      await withTimeout(Promise.resolve(close()), deadlineMs, late);
    } catch (error) {
      this.#logger.warn({ part: name, err: errorFields(error) }, 'a part did not close cleanly');
    }
  }
}
