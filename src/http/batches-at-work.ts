import { ServiceError } from '../domain/errors.ts';

/** The batches of each store that are at work. A store that sends none takes no memory. */
export class BatchesAtWork {
  readonly #most: number;
  readonly #counts = new Map<string, number>();

  /** @param most of one store */
  constructor(most: number) {
    this.#most = most;
  }

  /** @throws {ServiceError} `rate_limited` where the store has as many as it may; then `end` must not follow */
  begin(retailerId: string): void {
    const count = this.#counts.get(retailerId) ?? 0;
    if (count >= this.#most) {
      throw new ServiceError('rate_limited', `Too many batches at once: your store may have ${this.#most} at work.`);
    }
    this.#counts.set(retailerId, count + 1);
  }

  end(retailerId: string): void {
    const left = (this.#counts.get(retailerId) ?? 0) - 1;
    if (left > 0) this.#counts.set(retailerId, left);
    else this.#counts.delete(retailerId);
  }
}
