import { networkOf } from '../domain/network.ts';
import { Tally } from '../domain/tally.ts';
import { below, MAX_TRACKING_SOCKETS } from '../limits.ts';

/**
 * Most links from one address that are looked up at once for a socket; one more is refused with 503. Below
 * MAX_TRACKING_SOCKETS, as a socket takes its place while its link is looked up.
 */
export const MAX_TRACKING_LOOKUPS_PER_ADDRESS = 500;

below({ MAX_TRACKING_LOOKUPS_PER_ADDRESS }, { MAX_TRACKING_SOCKETS });

/**
 * The look-ups that new sockets wait for, counted by network, so that a flood of unknown links takes neither
 * the places nor the statements of other people's pages.
 */
export class Lookups {
  readonly #underWay = new Tally();

  /** The result of `lookUp`; null where too many from this address are under way. */
  async run<T>(address: string, lookUp: () => Promise<T>): Promise<T | null> {
    const network = networkOf(address);
    if (this.#underWay.of(network) >= MAX_TRACKING_LOOKUPS_PER_ADDRESS) return null;
    this.#underWay.add(network, 1);
    try {
      return await lookUp();
    } finally {
      this.#underWay.add(network, -1);
    }
  }
}
