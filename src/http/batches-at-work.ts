import { ServiceError } from '../domain/errors.ts';
import { Tally } from '../domain/tally.ts';

/** The batches of each store that are at work. A store that sends none takes no memory. */
export class BatchesAtWork {
  readonly #most: number;
  readonly #counts = new Tally();

  /** @param most of one store */
  constructor(most: number) {
    this.#most = most;
  }

  /** @throws {ServiceError} `rate_limited` where the store has as many as it may; then `end` must not follow */
  begin(retailerId: string): void {
    if (this.#counts.of(retailerId) >= this.#most) {
      throw new ServiceError('rate_limited', `Too many batches at once: your store may have ${this.#most} at work.`);
    }
    this.#counts.add(retailerId, 1);
  }

  end(retailerId: string): void {
    this.#counts.add(retailerId, -1);
  }
}
