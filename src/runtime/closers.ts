import { errorFields, type Logger } from '../telemetry.ts';
import { withTimeout } from '../with-timeout.ts';

/** Longest time for one part to close; then it is left behind. */
export const CLOSE_DEADLINE_MS = 3_000;

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
    this.#closers.push({ name, close, deadlineMs });
  }

  /** Closes every part, each with its deadline. A part that fails to close is logged. */
  async closeAll(): Promise<void> {
    for (let closer = this.#closers.pop(); closer; closer = this.#closers.pop()) {
      await this.#close(closer.name, closer.close, closer.deadlineMs);
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
