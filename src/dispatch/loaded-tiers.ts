import type { Tier, TierId, Tiers } from '../domain/tier.ts';
import type { Matcher } from '../matcher/matcher.ts';
import type { Store } from '../store/store.ts';

/**
 * The tiers that this process works with: the rows that the matcher was given last, with a wait of at most
 * `maxWaitSeconds`. The table keeps what the operator has set.
 */
export class LoadedTiers {
  readonly #store: Pick<Store, 'loadTiers'>;
  readonly #matcher: Pick<Matcher, 'tier' | 'setTiers'>;
  readonly #maxWaitSeconds: number;
  #reloading = Promise.resolve();

  /** @param maxWaitSeconds longest wait of an order, whatever its tier allows; by default the tier decides */
  constructor(
    store: Pick<Store, 'loadTiers'>,
    matcher: Pick<Matcher, 'tier' | 'setTiers'>,
    maxWaitSeconds = Number.POSITIVE_INFINITY,
  ) {
    this.#store = store;
    this.#matcher = matcher;
    this.#maxWaitSeconds = maxWaitSeconds;
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
   * @throws where the table has more rows than the matcher has room for; then the matcher keeps the rows it
   *   has
   */
  reload(): Promise<void> {
    this.#reloading = this.#reloading
      .catch(() => undefined)
      .then(async () => this.#matcher.setTiers(this.#bounded(await this.#store.loadTiers())));
    return this.#reloading;
  }

  #bounded(tiers: Tiers): Tiers {
    const most = this.#maxWaitSeconds;
    return new Map(
      Array.from(tiers, ([id, tier]) => [id, { ...tier, maxWaitSeconds: Math.min(tier.maxWaitSeconds, most) }]),
    );
  }
}
