type Entry<Value> = { readonly value: Value; readonly untilMs: number };

/**
 * A cache that callers share. Each has at most `maxPerCaller` of the `max` entries. Where all are in use, the
 * caller with the most loses the one that it used least recently, so that none pushes out another's below an
 * equal share.
 */
export class SharedCache<Value> {
  readonly #max: number;
  readonly #maxPerCaller: number;
  /** A Map's order is the order of use, the least recent first. None is empty. */
  readonly #byCaller = new Map<string, Map<string, Entry<Value>>>();
  #size = 0;

  constructor(max: number, maxPerCaller: number) {
    this.#max = max;
    this.#maxPerCaller = maxPerCaller;
  }

  get(caller: string, key: string, nowMs: number): Value | undefined {
    const entries = this.#byCaller.get(caller);
    const entry = entries?.get(key);
    if (!entry) return undefined;
    this.#delete(caller, key);
    if (entry.untilMs <= nowMs) return undefined;
    this.#add(caller, key, entry);
    return entry.value;
  }

  /** @param untilMs when the entry ends */
  set(caller: string, key: string, value: Value, untilMs: number): void {
    this.#delete(caller, key);
    this.#add(caller, key, { value, untilMs });
    if ((this.#byCaller.get(caller)?.size ?? 0) > this.#maxPerCaller) this.#deleteOldest(caller);
    else if (this.#size > this.#max) this.#deleteOldest(this.#largest());
  }

  #add(caller: string, key: string, entry: Entry<Value>): void {
    const entries = this.#byCaller.get(caller) ?? new Map();
    this.#byCaller.set(caller, entries.set(key, entry));
    this.#size++;
  }

  #delete(caller: string, key: string): void {
    const entries = this.#byCaller.get(caller);
    if (!entries?.delete(key)) return;
    this.#size--;
    if (entries.size === 0) this.#byCaller.delete(caller);
  }

  #deleteOldest(caller: string): void {
    const [oldest] = this.#byCaller.get(caller)?.keys() ?? [];
    if (oldest !== undefined) this.#delete(caller, oldest);
  }

  #largest(): string {
    let [largest, size] = ['', 0];
    for (const [caller, entries] of this.#byCaller) {
      if (entries.size > size) [largest, size] = [caller, entries.size];
    }
    return largest;
  }
}
