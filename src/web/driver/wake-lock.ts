/** A lock by which the screen stays on. */
export type Lock = { readonly released: boolean; release(): Promise<void> };

/** Holds one lock while it is wanted, and none otherwise. */
export class WakeLock {
  readonly #take: () => Promise<Lock | null>;
  #lock: Lock | null = null;
  #wanted = false;
  #isSettling = false;

  /** @param take asks for a lock; null where there is none to have now */
  constructor(take: () => Promise<Lock | null>) {
    this.#take = take;
  }

  /** Says whether it is wanted. A lock that was lost meanwhile is taken again. */
  async keep(wanted: boolean): Promise<void> {
    this.#wanted = wanted;
    // One at a time, as two requests side by side would take two locks, of which one could not be released.
    if (this.#isSettling) return;
    this.#isSettling = true;
    while (await this.#settle());
    this.#isSettling = false;
  }

  /** Takes or releases the lock as it is wanted; false where nothing is left to do, or nothing can be done. */
  async #settle(): Promise<boolean> {
    const held = this.#lock?.released === false ? this.#lock : null;
    if (this.#wanted === (held !== null)) return false;
    if (held) {
      this.#lock = null;
      await held.release().catch(() => {});
      return true;
    }
    this.#lock = await this.#take().catch(() => null);
    return this.#lock !== null;
  }
}
