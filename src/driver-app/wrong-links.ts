/** Links of one network that may be wrong within a minute; then it waits for the rest of it. */
export const WRONG_LINKS_PER_MINUTE = 20;
/** Most networks whose wrong links are counted one by one, about 100 bytes each; all others count as one. */
export const MAX_NETWORKS_COUNTED = 10_000;

const MINUTE_MS = 60_000;

/** The links of each network that were wrong in this minute, and those that are just being tried. */
export class WrongLinks {
  readonly #now: () => number;
  #counts = new Map<string, number>();
  #sinceMs: number;

  /** @param now a clock in milliseconds */
  constructor(now: () => number) {
    this.#now = now;
    this.#sinceMs = now();
  }

  /** Seconds that a network has to wait before its next link; 0 for none. */
  waitOf(network: string): number {
    const passedMs = this.#now() - this.#sinceMs;
    if (passedMs >= MINUTE_MS) {
      this.#counts = new Map();
      this.#sinceMs = this.#now();
      return 0;
    }
    const count = this.#counts.get(this.#nameOf(network)) ?? 0;
    return count < WRONG_LINKS_PER_MINUTE ? 0 : Math.ceil((MINUTE_MS - passedMs) / 1_000);
  }

  /** Counts a link as wrong until {@link takeBack}, so that as many at once are no more than one after the other. */
  add(network: string): void {
    const name = this.#nameOf(network);
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** A link that was counted is not wrong. */
  takeBack(network: string): void {
    const name = this.#nameOf(network);
    const count = this.#counts.get(name) ?? 0;
    // None is left where its minute is over.
    if (count > 0) this.#counts.set(name, count - 1);
  }

  #nameOf(network: string): string {
    return this.#counts.has(network) || this.#counts.size < MAX_NETWORKS_COUNTED ? network : 'others';
  }
}
