import { describe, expect, it } from 'vitest';
import { CommitBacklog } from '../../src/dispatch/commit-backlog.ts';
import {
  ASSUMED_ORDER_RATE,
  LATE_ORDER_MS,
  MAX_COMMIT_BATCH,
  MAX_COMMIT_WAIT_MS,
  MAX_ORDER_WAIT_MS,
  MIN_UNSTORED_ORDERS,
  ORDER_RATE_MS,
  ORDER_RATES_KEPT,
  YOUNG_ORDER_MS,
} from '../../src/limits.ts';

const STEP_MS = 5;

/**
 * A process in virtual time that commits full batches, one after the other, at the rate that `machine` says;
 * at 0 it stands still. What waited MAX_COMMIT_WAIT_MS is dropped, as the group commit does.
 */
function process(machine: (nowMs: number) => number, startMs = 0) {
  const backlog = new CommitBacklog();
  let line: { readonly sinceMs: number }[] = [];
  let batch: readonly { readonly sinceMs: number }[] = [];
  /** Orders of the batch that are not done. */
  let left = 0;
  let nowMs = startMs;
  const seen = { stored: 0, refusedAtMs: [] as number[], late: 0 };
  backlog.addLine(() => line[0]?.sinceMs);

  function commit(): void {
    left -= (machine(nowMs) * STEP_MS) / 1_000;
    if (left > 0) return;
    seen.stored += batch.length;
    if (batch.length > 0) backlog.committed(batch.length, nowMs);
    const fresh = line.filter(({ sinceMs }) => nowMs - sinceMs < MAX_COMMIT_WAIT_MS);
    seen.late += line.length - fresh.length;
    backlog.started -= line.length - fresh.length;
    batch = fresh.slice(0, MAX_COMMIT_BATCH);
    line = fresh.slice(MAX_COMMIT_BATCH);
    left = batch.length;
  }

  function come(orders: number): void {
    for (let i = 0; i < orders; i++) {
      if (backlog.isFull(nowMs)) {
        seen.refusedAtMs.push(nowMs);
        continue;
      }
      line.push({ sinceMs: nowMs });
      backlog.started++;
    }
  }

  function run(seconds: number, comingNow: () => number): void {
    for (const endMs = nowMs + seconds * 1_000; nowMs < endMs; nowMs += STEP_MS) {
      come(comingNow());
      commit();
    }
  }

  return {
    backlog,
    seen,
    /** Callers of whom each sends its next order after the answer to the last one. */
    loop: (callers: number, seconds: number) => run(seconds, () => callers - backlog.orders),
    /** Orders that come at a rate, whatever becomes of them. */
    flood(perSecond: number, seconds: number): void {
      let due = 0;
      run(seconds, () => {
        due += (perSecond * STEP_MS) / 1_000;
        const coming = Math.floor(due);
        due -= coming;
        return coming;
      });
    },
  };
}

const at = (rate: number) => () => rate;
/** A machine that stands still for a time. */
const stalled = (rate: number, fromMs: number, ms: number) => (nowMs: number) =>
  nowMs >= fromMs && nowMs < fromMs + ms ? 0 : rate;

/** Orders that are taken in while the oldest in line has waited so long. */
function room(backlog: CommitBacklog, oldestMs = YOUNG_ORDER_MS): number {
  const nowMs = 1e9;
  backlog.addLine(() => nowMs - oldestMs);
  backlog.started = 0;
  for (backlog.queued = 0; !backlog.isFull(nowMs); ) backlog.queued++;
  return backlog.queued;
}

/** Commits for as long as rates are kept, while many orders stand in line, and then the last of them. */
function storedAt(rate: number): CommitBacklog {
  const { backlog, loop, flood } = process(at(rate));
  const measuredMs = Math.max(ORDER_RATE_MS, (MAX_COMMIT_BATCH / rate) * 1_000);
  loop(400, ((ORDER_RATES_KEPT + 2) * 2 * measuredMs) / 1_000);
  flood(0, 2 * (400 / rate));
  return backlog;
}

const inWait = (rate: number): number => (rate * MAX_ORDER_WAIT_MS) / 1_000;

it('takes as many orders as it stores in the longest wait', () => {
  expect(room(storedAt(2_000)) / inWait(2_000)).toBeCloseTo(1, 1);
  expect(room(storedAt(300)) / inWait(300)).toBeCloseTo(1, 1);
});

it('assumes a rate until it has measured one', () => {
  expect(room(new CommitBacklog())).toBe(inWait(ASSUMED_ORDER_RATE));
});

it('takes some orders on the slowest machine, or it would never learn that it is quick again', () => {
  expect(room(storedAt(20))).toBe(MIN_UNSTORED_ORDERS);
});

it('does not take a time with few orders for the rate of the machine', () => {
  const backlog = storedAt(2_000);
  const rate = backlog.ratePerSecond;
  backlog.queued = 3;
  for (let nowMs = 1e8; nowMs < 1e8 + 60_000; nowMs += 1_000) {
    backlog.started = 1;
    backlog.committed(1, nowMs);
  }
  expect(backlog.ratePerSecond).toBeCloseTo(rate);
});

it('believes in no slow rate while the oldest order is young, and in none at all where it is late', () => {
  expect(room(storedAt(300), YOUNG_ORDER_MS - 1)).toBe(inWait(ASSUMED_ORDER_RATE));
  expect(room(storedAt(2_000), LATE_ORDER_MS)).toBe(MIN_UNSTORED_ORDERS);
});

describe('a closed loop of 1,000 callers', () => {
  it.each([600, 1_000, 4_000])('sees no refusal where %i orders a second are stored', (rate) => {
    const { loop, seen } = process(at(rate));
    loop(1_000, 20);
    expect(seen).toMatchObject({ refusedAtMs: [], late: 0 });
  });

  it('sees none in a first second at a tenth of the rate', () => {
    const { loop, seen } = process((nowMs) => (nowMs < 1_000 ? 60 : 800));
    loop(1_000, 10);
    expect(seen).toMatchObject({ refusedAtMs: [], late: 0 });
  });

  it('sees none after a time at which the machine was slow', () => {
    const { loop, flood, seen } = process((nowMs) => (nowMs < 20_000 ? 100 : 1_000));
    flood(99, 19);
    flood(0, 5);
    loop(1_000, 10);
    expect(seen).toMatchObject({ refusedAtMs: [], late: 0 });
  });

  it('sees refusals for no longer than a stall of a second lasted', () => {
    const { loop, seen } = process(stalled(800, 10_000, 1_000));
    loop(1_000, 30);
    const [first = 0, last = 0] = [seen.refusedAtMs[0], seen.refusedAtMs.at(-1)];
    expect(last - first).toBeLessThanOrEqual(1_000);
    expect(seen.late).toBe(0);
  });
});

describe('a flood of three times the rate', () => {
  const RATE = 500;

  it('is refused before an order would be late, and takes nothing of the rate', () => {
    const { loop, flood, seen, backlog } = process(at(RATE));
    loop(384, 5);
    const before = seen.stored;
    flood(3 * RATE, 12);
    expect(seen.late).toBe(0);
    expect(seen.stored - before).toBeGreaterThan(0.9 * RATE * 12);
    expect(backlog.orders).toBeLessThanOrEqual((RATE * 1.1 * MAX_ORDER_WAIT_MS) / 1_000);
  });

  it('makes few orders late where the machine becomes slower by a third', () => {
    const { loop, flood, seen } = process((nowMs) => (nowMs < 8_000 ? RATE : (RATE * 2) / 3));
    loop(384, 5);
    flood(3 * RATE, 12);
    expect(seen.late).toBeLessThan(seen.refusedAtMs.length / 100);
  });

  it('makes few orders late where the machine stalls for a second, and is taken in again after it', () => {
    const { loop, flood, seen } = process(stalled(RATE, 10_000, 1_000));
    loop(384, 5);
    flood(3 * RATE, 12);
    expect(seen.late).toBeLessThan(seen.refusedAtMs.length / 100);
  });
});
