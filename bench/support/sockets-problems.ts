import type { Report } from '../../test/harness/report.ts';
import type { Child } from './sockets-child.ts';

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

/** Fails the run where a child met problems. */
export async function failIfTold(report: Report, child: Child, what: string): Promise<void> {
  const { count, first } = await child.ask<Problems>('problems');
  if (count > 0) report.failed(`${count} times ${what}: ${first.join('; ')}`);
}
