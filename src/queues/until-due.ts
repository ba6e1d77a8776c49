import type { Clock } from '../postgres/clock.ts';
import type { OutboxRow } from '../store/outbox-rows.ts';
import { JOB_TICK_MS } from './job-pace.ts';

/** Longest time before they are due that rows are held so that they share a job. Below RELAY_AHEAD_MS. */
const RELAY_SOON_MS = 60_000;
/**
 * Most rows held until they are due; the rest is left to the sweeper. A text of each order of a burst is one.
 */
export const RELAY_SOON_ROWS = 100_000;

export type UntilDue = {
  /** Holds the rows that are due soon; returns the others. Those beyond the bound are left to the sweeper. */
  hold(rows: readonly OutboxRow[]): OutboxRow[];
  /** Ends the holding; returns what was held. */
  release(): OutboxRow[];
};

/**
 * Holds rows until they are due, so that they share jobs: a delayed job of BullMQ is one of its own.
 *
 * @param pass takes the rows that have become due
 */
export function createUntilDue(clock: Clock, pass: (rows: readonly OutboxRow[]) => void): UntilDue {
  let held: OutboxRow[] = [];
  let timer: NodeJS.Timeout | undefined;

  function tick(): void {
    const nowMs = clock.now();
    const isDue = ({ runAt }: OutboxRow) => runAt.getTime() <= nowMs;
    const due = held.filter(isDue);
    held = held.filter((row) => !isDue(row));
    timer = undefined;
    wait();
    if (due.length > 0) pass(due);
  }

  function wait(): void {
    if (held.length > 0) timer ??= setTimeout(tick, JOB_TICK_MS);
  }

  return {
    hold(rows) {
      const nowMs = clock.now();
      const isSoon = ({ runAt }: OutboxRow) => runAt.getTime() > nowMs && runAt.getTime() <= nowMs + RELAY_SOON_MS;
      const soon = rows.filter(isSoon);
      if (soon.length === 0) return [...rows];
      held.push(...soon.slice(0, RELAY_SOON_ROWS - held.length));
      wait();
      return rows.filter((row) => !isSoon(row));
    },
    release() {
      clearTimeout(timer);
      return held.splice(0);
    },
  };
}
