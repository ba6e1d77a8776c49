import { Tally } from '../domain/tally.ts';

/** Most links from one network that are looked up at once for a socket; one more is refused with 503. */
export const MAX_TRACKING_LOOKUPS_PER_ADDRESS = 500;

/**
 * The look-ups that new sockets wait for, counted by network, so that a flood of unknown links does not take the
 * statements of other people's pages.
 */
export class Lookups {
  readonly #underWay = new Tally();

  /** The result of `lookUp`; null where too many from this network are under way. */
  async run<T>(network: string, lookUp: () => Promise<T>): Promise<T | null> {
    if (this.#underWay.of(network) >= MAX_TRACKING_LOOKUPS_PER_ADDRESS) return null;
    this.#underWay.add(network, 1);
    try {
      return await lookUp();
    } finally {
      this.#underWay.add(network, -1);
    }
  }
}
