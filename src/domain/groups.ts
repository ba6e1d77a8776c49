const NONE: ReadonlySet<never> = new Set<never>();

/** Sets of values by a key, each in the order in which they came. A key without values takes no memory. */
export class Groups<Key, Value> {
  readonly #sets = new Map<Key, Set<Value>>();

  of(key: Key): ReadonlySet<Value> {
    return this.#sets.get(key) ?? NONE;
  }

  add(key: Key, value: Value): void {
    const known = this.#sets.get(key);
    if (known) known.add(value);
    else this.#sets.set(key, new Set([value]));
  }

  delete(key: Key, value: Value): void {
    const known = this.#sets.get(key);
    if (known?.delete(value) && known.size === 0) this.#sets.delete(key);
  }

  clear(): void {
    this.#sets.clear();
  }
}
