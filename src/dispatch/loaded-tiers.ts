import type { Tier, TierId } from '../domain/tier.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Store } from '../store/store.ts';

/** The tiers that this process works with: the rows that the matcher was given last. */
export class LoadedTiers {
  readonly #store: Pick<Store, 'loadTiers'>;
  readonly #matcher: Pick<Matcher, 'tier' | 'setTiers'>;
  #reloading = Promise.resolve();

  constructor(store: Pick<Store, 'loadTiers'>, matcher: Pick<Matcher, 'tier' | 'setTiers'>) {
    this.#store = store;
    this.#matcher = matcher;
  }

  /** @throws where the table has no such row */
  get(id: TierId): Tier {
    const tier = this.#matcher.tier(id);
    if (!tier) throw new Error(`the tier table has no row ${id}`);
    return tier;
  }

  /**
   * Reads the table again. One read after another, so that an earlier read does not replace a later one.
   *
   * @throws where the table has more rows than the matcher has room for; then the matcher keeps the rows it has
   */
  reload(): Promise<void> {
    this.#reloading = this.#reloading
      .catch(() => undefined)
      .then(async () => this.#matcher.setTiers(await this.#store.loadTiers()));
    return this.#reloading;
  }
}
