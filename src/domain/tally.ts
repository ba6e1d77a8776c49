/** Counts by name. What is at zero takes no memory. */
export class Tally {
  readonly #counts = new Map<string, number>();

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string, change: number): void {
    const count = this.of(name) + change;
    if (count === 0) this.#counts.delete(name);
    else this.#counts.set(name, count);
  }

  /** The result of work that counts while it lasts; null, without it, where a name has `most` under way. */
  async run<T>(name: string, most: number, work: () => Promise<T>): Promise<T | null> {
    if (this.of(name) >= most) return null;
    this.add(name, 1);
    try {
      return await work();
    } finally {
      this.add(name, -1);
    }
  }
}
