import type { Call } from './statements.ts';

type Answer = { readonly asked: string; readonly result: unknown };

/** The statements that read or write the row of the lease. */
const READERS: ReadonlySet<string> = new Set(['assignWaiting', 'writePlans', 'writeWaits', 'leaveLease', 'takeLease']);

/**
 * Answers a renewal of the right to plan that asks the same as the one before, while nothing can have changed:
 * two processes ask each second of the day, which is most of what they send. The row's new end is written before
 * the next statement that reads it; whoever takes the right asks the table.
 */
export class LeaseAnswers {
  readonly #last = new Map<number, Answer>();
  #holder: number | null = null;
  #untilMs = 0;
  #isOwed = false;

  /** The answer of one that needs no table; undefined for any other. */
  repeat({ process, name, args }: Call, nowMs: number): { readonly result: unknown } | undefined {
    const last = name === 'takeLease' ? this.#last.get(process) : undefined;
    if (!last || last.asked !== JSON.stringify(args) || nowMs >= this.#untilMs) return undefined;
    const isHolder = this.#holder === process;
    if (isHolder !== (last.result !== null)) return undefined;
    if (isHolder) {
      this.#untilMs = nowMs + Number(args[1]);
      this.#isOwed = true;
    }
    return { result: last.result };
  }

  /** Notes the answer of the table. */
  answered({ process, name, args }: Call, result: unknown, nowMs: number): void {
    if (name === 'leaveLease') {
      this.#untilMs = 0;
      this.#last.clear();
    }
    if (name !== 'takeLease') return;
    if (result !== null) {
      if (this.#holder !== process) this.#last.clear();
      this.#holder = process;
      this.#untilMs = nowMs + Number(args[1]);
    }
    this.#last.set(process, { asked: JSON.stringify(args), result });
  }

  /** The end that has to be written to the row before a statement; null where there is none. */
  owedBefore({ name }: Call): number | null {
    if (!this.#isOwed || !READERS.has(name)) return null;
    this.#isOwed = false;
    return this.#untilMs;
  }
}
