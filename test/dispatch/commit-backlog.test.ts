import { expect, it } from 'vitest';
import {
  ASSUMED_ORDER_RATE,
  CommitBacklog,
  LINE_PAUSE_MS,
  MAX_ORDER_WAIT_MS,
  MIN_UNSTORED_ORDERS,
  ORDER_RATE_WINDOW_MS,
} from '../../src/dispatch/commit-backlog.ts';
import { MAX_COMMIT_BATCH, QUERY_DEADLINE_MS } from '../../src/limits.ts';

/** Full commits at a rate, for much longer than the rate's window, while many orders stand in line. */
function store(backlog: CommitBacklog, ratePerSecond: number): void {
  backlog.queued = 10_000;
  const everyMs = (MAX_COMMIT_BATCH / ratePerSecond) * 1_000;
  for (const endMs = nowMs + 20 * ORDER_RATE_WINDOW_MS + 2 * everyMs; nowMs < endMs; nowMs += everyMs) {
    backlog.committed(MAX_COMMIT_BATCH, nowMs);
  }
}
let nowMs = 0;

function storedAt(ratePerSecond: number): CommitBacklog {
  const backlog = new CommitBacklog();
  store(backlog, ratePerSecond);
  return backlog;
}

const room = (backlog: CommitBacklog): number => {
  backlog.started = 0;
  for (backlog.queued = 0; !backlog.isFull(); ) backlog.queued++;
  return backlog.queued;
};

it('takes as many orders as it stores in the longest wait', () => {
  expect(storedAt(2_000).ratePerSecond).toBeCloseTo(2_000);
  expect(room(storedAt(2_000))).toBeCloseTo((2_000 * MAX_ORDER_WAIT_MS) / 1_000, -1);
  expect(room(storedAt(300))).toBeCloseTo((300 * MAX_ORDER_WAIT_MS) / 1_000, -1);
});

it('assumes a rate until it has measured one', () => {
  expect(room(new CommitBacklog())).toBe((ASSUMED_ORDER_RATE * MAX_ORDER_WAIT_MS) / 1_000);
});

it('takes some orders on the slowest machine, or it would never learn that it is quick again', () => {
  expect(room(storedAt(60))).toBe(MIN_UNSTORED_ORDERS);
});

it('does not take a time with few orders for the rate of the machine', () => {
  const backlog = storedAt(2_000);
  backlog.queued = 3;
  backlog.committed(MAX_COMMIT_BATCH, nowMs);
  for (const endMs = nowMs + 60_000; nowMs < endMs; nowMs += 1_000) backlog.committed(1, nowMs);
  expect(backlog.ratePerSecond).toBeCloseTo(2_000);
});

it('does not take the quiet between two bursts for the rate of the machine', () => {
  const backlog = storedAt(2_000);
  nowMs += 60_000;
  backlog.resume(nowMs);
  backlog.committed(MAX_COMMIT_BATCH, nowMs + 1_000);
  expect(backlog.ratePerSecond).toBeCloseTo(2_000);
});

it('takes a pause within a line for the rate of the machine', () => {
  const backlog = storedAt(2_000);
  backlog.resume(nowMs + LINE_PAUSE_MS / 2);
  backlog.committed(MAX_COMMIT_BATCH, nowMs + LINE_PAUSE_MS);
  expect(backlog.ratePerSecond).toBeLessThan(1_900);
});

it('does not take the time for which the database was away for the rate of the machine', () => {
  const backlog = storedAt(2_000);
  backlog.committed(MAX_COMMIT_BATCH, nowMs + QUERY_DEADLINE_MS + 1);
  expect(backlog.ratePerSecond).toBeCloseTo(2_000);
});

it('does not take a commit that stored nothing for the rate of the machine', () => {
  const backlog = storedAt(2_000);
  backlog.endLine();
  backlog.committed(MAX_COMMIT_BATCH, nowMs + QUERY_DEADLINE_MS / 2);
  expect(backlog.ratePerSecond).toBeCloseTo(2_000);
});

it('ends a line whose orders went away', () => {
  const backlog = storedAt(2_000);
  backlog.queued = 1;
  backlog.resume(nowMs);
  backlog.committed(1, nowMs + LINE_PAUSE_MS);
  expect(backlog.ratePerSecond).toBeCloseTo(2_000);
});

it('follows a machine that becomes slower', () => {
  const backlog = storedAt(2_000);
  store(backlog, 100);
  expect(backlog.ratePerSecond).toBeCloseTo(100, 0);
});
