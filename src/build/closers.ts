import { CLOSE_DEADLINE_MS } from '../limits.ts';
import { errorFields, type Logger } from '../telemetry.ts';

/** Closes what was opened, last in first out; registered on the line after each constructor. Closing twice is harmless. */
export class Closers {
  readonly #closers: { readonly name: string; readonly close: () => unknown }[] = [];
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(name: string, close: () => unknown): void {
    this.#closers.push({ name, close });
  }

  /** Closes everything, each with a deadline; what fails to close does not keep the rest open. */
  async closeAll(): Promise<void> {
    for (let closer = this.#closers.pop(); closer; closer = this.#closers.pop()) {
      await this.#close(closer.name, closer.close);
    }
  }

  async #close(name: string, close: () => unknown): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(Object.assign(new Error(name), { code: 'CLOSE_LATE' })), CLOSE_DEADLINE_MS);
    });
    try {
      await Promise.race([close(), late]);
    } catch (error) {
      this.#logger.warn({ part: name, err: errorFields(error) }, 'a part did not close cleanly');
    } finally {
      clearTimeout(timer);
    }
  }
}
