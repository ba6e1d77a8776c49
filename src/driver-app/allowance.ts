/** A token bucket for one sender's messages: holds `burst` and gains `perSecond` a second. */
export class Allowance {
  readonly #burst: number;
  readonly #perMs: number;
  #left: number;
  #atMs: number;

  constructor(burst: number, perSecond: number, nowMs: number) {
    this.#burst = burst;
    this.#perMs = perSecond / 1_000;
    this.#left = burst;
    this.#atMs = nowMs;
  }

  /** Takes one; false where none is left. A clock that steps back adds nothing. */
  take(nowMs: number): boolean {
    const gained = Math.max(0, nowMs - this.#atMs) * this.#perMs;
    this.#left = Math.min(this.#burst, this.#left + gained);
    this.#atMs = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
