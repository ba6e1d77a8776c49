import { expect, it } from 'vitest';
import {
  ASSUMED_ORDER_RATE,
  CommitBacklog,
  MAX_ORDER_WAIT_MS,
  MIN_UNSTORED_ORDERS,
  ORDER_RATE_WINDOW_MS,
} from '../../src/dispatch/commit-backlog.ts';
import { MAX_COMMIT_BATCH } from '../../src/limits.ts';

/** Has orders start and be committed. */
function commit(backlog: CommitBacklog, orders: number): void {
  backlog.started += orders;
  backlog.committed(orders, nowMs);
}

/** Full commits at a rate, for much longer than the rate's window, while many orders stand in line. */
function store(backlog: CommitBacklog, ratePerSecond: number): void {
  backlog.queued = 10_000;
  const everyMs = (MAX_COMMIT_BATCH / ratePerSecond) * 1_000;
  for (const endMs = nowMs + 20 * ORDER_RATE_WINDOW_MS + 2 * everyMs; nowMs < endMs; nowMs += everyMs) {
    commit(backlog, MAX_COMMIT_BATCH);
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
  expect(room(storedAt(1))).toBe(MIN_UNSTORED_ORDERS);
});

it('does not take a time with few orders for the rate of the machine', () => {
  const backlog = storedAt(2_000);
  backlog.queued = 3;
  commit(backlog, MAX_COMMIT_BATCH);
  for (const endMs = nowMs + 60_000; nowMs < endMs; nowMs += 1_000) commit(backlog, 1);
  expect(backlog.ratePerSecond).toBeCloseTo(2_000);
});

it.each<[string, (backlog: CommitBacklog) => void]>([
  [
    'whose last orders are committed',
    (backlog) => {
      backlog.queued = 0;
      commit(backlog, MAX_COMMIT_BATCH);
    },
  ],
  [
    'whose callers hang up before their turn',
    (backlog) => {
      while (backlog.queued > 0) backlog.dequeue();
    },
  ],
  [
    'whose callers hang up before their commit',
    (backlog) => {
      backlog.queued = 0;
      backlog.started = 1_000;
      backlog.leave(1_000);
    },
  ],
])('does not take the quiet after a burst %s for the rate of the machine', (_what, end) => {
  const backlog = storedAt(2_000);
  end(backlog);
  nowMs += 60_000;
  backlog.queued = 1_000;
  commit(backlog, MAX_COMMIT_BATCH);
  expect(backlog.ratePerSecond).toBeCloseTo(2_000, -2);
});

it('follows a machine that becomes slower', () => {
  const backlog = storedAt(2_000);
  store(backlog, 100);
  expect(backlog.ratePerSecond).toBeCloseTo(100, 0);
});
