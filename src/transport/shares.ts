import { isNetwork } from './caller.ts';

/**
 * A pool of which no caller takes more than a share, so that the others find room while one fills theirs. Callers
 * without a key, of whom there may be any number, take half of it together at most.
 */
export class SharedPool {
  readonly #size: number;
  readonly #share: number;
  readonly #byCaller = new Map<string, number>();
  #taken = 0;
  /** What callers without a key hold. */
  #ofNetworks = 0;

  /** @param size of the whole pool; Infinity where the shares alone are bounded */
  constructor(size: number, share: number) {
    this.#size = size;
    this.#share = share;
  }

  /** Takes for a caller, or for nobody yet (null); false, with nothing taken, where pool or share lacks it. */
  take(caller: string | null, amount: number): boolean {
    if (this.#taken + amount > this.#size || !this.#count(caller, amount)) return false;
    this.#taken += amount;
    return true;
  }

  /** Counts what was taken for nobody as the caller's; false, with nothing changed, where their share lacks it. */
  claim(caller: string, amount: number): boolean {
    return this.#count(caller, amount);
  }

  giveBack(caller: string | null, amount: number): void {
    this.#taken -= amount;
    this.#count(caller, -amount);
  }

  /** Of all callers. */
  get taken(): number {
    return this.#taken;
  }

  /** Callers who hold something. */
  get callers(): number {
    return this.#byCaller.size;
  }

  #count(caller: string | null, change: number): boolean {
    if (caller === null || change === 0) return true;
    const amount = (this.#byCaller.get(caller) ?? 0) + change;
    if (change > 0 && amount > this.#share) return false;
    if (isNetwork(caller)) {
      if (change > 0 && this.#ofNetworks + change > this.#size / 2) return false;
      this.#ofNetworks += change;
    }
    if (amount > 0) this.#byCaller.set(caller, amount);
    else this.#byCaller.delete(caller);
    return true;
  }
}
