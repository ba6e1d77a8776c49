import type { At, DriverRow } from './picture.ts';

type Known = At & { readonly atMs: number; replacedMs: number };
type Facts = Pick<DriverRow, 'tiers' | 'vehicle' | 'untilMs'>;
type Change = {
  readonly driverId: string;
  readonly before: Facts;
  readonly atMs: number;
  readonly unknownTo: Set<number>;
};

/** For so long after a newer position a choice may still rest on the one before: its statement was queued. */
const CHOICE_MS = 300;

/** What each process can know at a moment: positions that reached it, and what it can have read of drivers. */
export class Knowledge {
  /** By process and driver, the last positions that reached the process, newest last. */
  readonly #positions = new Map<string, Known[]>();
  /** The same of positions that it read in the tables, which it may have left out. */
  readonly #read = new Map<string, Known>();
  #changes: Change[] = [];

  /** A position was reported to a process, or came over the bus. */
  reached(process: number, driverId: string, at: At, atMs: number, nowMs: number): void {
    const key = `${process} ${driverId}`;
    const known = (this.#positions.get(key) ?? []).filter(({ replacedMs }) => replacedMs > nowMs - 60_000);
    const last = known.at(-1);
    if (last && last.atMs > atMs) return;
    if (last) last.replacedMs = nowMs;
    this.#positions.set(key, [...known, { ...at, atMs, replacedMs: Number.POSITIVE_INFINITY }]);
  }

  /** A process has read drivers in the tables. */
  read(
    process: number,
    drivers: readonly { readonly id: string; readonly position: (At & { readonly atMs: number }) | null }[],
    sentMs: number,
  ): void {
    for (const { id, position } of drivers) {
      for (const change of this.#changes) {
        if (change.driverId === id && change.atMs < sentMs) change.unknownTo.delete(process);
      }
      const key = `${process} ${id}`;
      if (position && position.atMs >= (this.#read.get(key)?.atMs ?? 0)) {
        this.#read.set(key, { ...position, replacedMs: Number.POSITIVE_INFINITY });
      }
    }
  }

  /** Where a driver may be by what a process knows. */
  positionsOf(process: number, driverId: string, nowMs: number): (At & { readonly atMs: number })[] {
    const key = `${process} ${driverId}`;
    const reached = (this.#positions.get(key) ?? []).filter(({ replacedMs }) => replacedMs >= nowMs - CHOICE_MS);
    const last = reached.at(-1);
    const read = this.#read.get(key);
    return read && read.atMs > (last?.atMs ?? 0) ? [...reached, read] : reached;
  }

  /** What a driver drives or serves was changed by somebody else. */
  changed(driverId: string, before: Facts, nowMs: number, processes: readonly number[]): void {
    this.#changes.push({ driverId, before, atMs: nowMs, unknownTo: new Set(processes) });
  }

  /** Since `sinceMs` a process has heard of everything: it knows what was changed before. */
  heardAllSince(process: number, sinceMs: number): void {
    for (const change of this.#changes) if (change.atMs < sinceMs) change.unknownTo.delete(process);
    this.#changes = this.#changes.filter(({ unknownTo }) => unknownTo.size > 0);
  }

  /** What a process may believe of a driver. */
  factsOf(process: number, now: DriverRow): Facts[] {
    const before = this.#changes.filter((each) => each.driverId === now.id && each.unknownTo.has(process));
    return [now, ...before.map((each) => each.before)];
  }
}
