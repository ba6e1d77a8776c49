const TOLD = 5;

/** The problems of a child: their number, and the first few in words. */
export type Problems = { readonly count: number; readonly first: readonly string[] };

export class ProblemList {
  #count = 0;
  readonly #first: string[] = [];

  add(what: string): void {
    this.#count += 1;
    if (this.#first.length < TOLD) this.#first.push(what);
  }

  told(): Problems {
    return { count: this.#count, first: this.#first };
  }
}
