import { below } from '../limits.ts';
import type { Clock } from '../postgres/clock.ts';
import type { OutboxRow } from '../store/outbox-rows.ts';
import { JOB_TICK_MS } from './job-pace.ts';

/**
 * Longest time before it is due that a job is handed over, and that a queue keeps one that waits; a later one waits
 * for the sweeper. Below OUTBOX_LEASE_SECONDS, at whose end the sweeper would add a second job of its row.
 */
export const RELAY_AHEAD_MS = 5 * 60_000;
/** Longest time before they are due that rows are held so that they share a job. Below RELAY_AHEAD_MS. */
const RELAY_SOON_MS = 60_000;
/**
 * Most rows held until they are due; the rest is left to the sweeper. A text of each order of a burst is one.
 */
export const RELAY_SOON_ROWS = 100_000;

below({ RELAY_SOON_MS }, { RELAY_AHEAD_MS });

/**
 * Holds rows until they are due, so that they share jobs: a delayed job of BullMQ is one of its own. They lie by the
 * tick in which they are due, as a look through all of them each tick would cost a burst more than its jobs.
 *
 * @param pass takes the rows that have become due, up to two ticks later
 */
export function createUntilDue(clock: Clock, pass: (rows: readonly OutboxRow[]) => void) {
  const held = new Map<number, OutboxRow[]>();
  let room = RELAY_SOON_ROWS;
  let timer: NodeJS.Timeout | undefined;

  function tick(): void {
    const due = take(tickOf(clock.now()));
    timer = undefined;
    wait();
    if (due.length > 0) pass(due);
  }

  /** Takes out what is due before a tick. */
  function take(before: number): OutboxRow[] {
    const ticks = [...held.keys()].filter((each) => each < before).sort((a, b) => a - b);
    const rows = ticks.flatMap((each) => held.get(each) ?? []);
    for (const each of ticks) held.delete(each);
    room += rows.length;
    return rows;
  }

  function wait(): void {
    if (held.size > 0) timer ??= setTimeout(tick, JOB_TICK_MS);
  }

  function put(row: OutboxRow): void {
    const due = tickOf(row.runAt.getTime());
    const rows = held.get(due);
    if (rows) rows.push(row);
    else held.set(due, [row]);
  }

  return {
    /** Holds the rows that are due soon; returns the others. Those beyond the bound are left to the sweeper. */
    hold(rows: readonly OutboxRow[]): OutboxRow[] {
      const nowMs = clock.now();
      const isSoon = ({ runAt }: OutboxRow) => runAt.getTime() > nowMs && runAt.getTime() <= nowMs + RELAY_SOON_MS;
      const soon = rows.filter(isSoon);
      if (soon.length === 0) return [...rows];
      const fitting = soon.slice(0, room);
      room -= fitting.length;
      fitting.forEach(put);
      wait();
      return rows.filter((row) => !isSoon(row));
    },
    /** Ends the holding; returns what was held. */
    release(): OutboxRow[] {
      clearTimeout(timer);
      return take(Number.POSITIVE_INFINITY);
    },
  };
}

const tickOf = (ms: number): number => Math.floor(ms / JOB_TICK_MS);
