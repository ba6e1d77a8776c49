import type { Tier, TierId, Tiers } from '../domain/tier.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Store } from '../store/store.ts';

/** The tier table in memory. */
export class TierTable {
  readonly #store: Pick<Store, 'loadTiers'>;
  readonly #matcher: Pick<Matcher, 'setTiers'>;
  #tiers: Tiers;
  #reloading = Promise.resolve();

  /** @param tiers those that the matcher was built with */
  constructor(store: Pick<Store, 'loadTiers'>, matcher: Pick<Matcher, 'setTiers'>, tiers: Tiers) {
    this.#store = store;
    this.#matcher = matcher;
    this.#tiers = tiers;
  }

  /** @throws if the table has no such row */
  get(id: TierId): Tier {
    const tier = this.#tiers.get(id);
    if (!tier) throw new Error(`the tier table has no row ${id}`);
    return tier;
  }

  /**
   * Reads the table again and updates the matcher. Reads run one after another, so that the last one counts.
   */
  reload(): Promise<void> {
    this.#reloading = this.#reloading
      .catch(() => undefined)
      .then(async () => {
        this.#tiers = await this.#store.loadTiers();
        this.#matcher.setTiers(this.#tiers);
      });
    return this.#reloading;
  }
}
