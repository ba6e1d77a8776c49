import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { holdWhileAway, JOB_HELD_MS, JOB_HELD_RETRY_MS } from '../../src/queues/hold-while-away.ts';
import type { JobResult } from '../../src/queues/job-handler.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const DONE: JobResult = { kind: 'done' };
const DATA = { outboxId: 1, orderId: 'o' };

/** A handler that fails while the database is away, and a worker that may close. */
function world() {
  const state = { isAway: true, isClosing: false, runs: 0 };
  const handle = async (): Promise<JobResult> => {
    state.runs++;
    if (state.isAway) throw new Error('no database');
    return DONE;
  };
  return {
    state,
    run: holdWhileAway(handle, { isAway: () => state.isAway }, () => state.isClosing),
  };
}

test('a job is held while the database is away, and done when it is back', async () => {
  const { state, run } = world();
  const result = run(DATA);
  await vi.advanceTimersByTimeAsync(JOB_HELD_RETRY_MS * 10);
  expect(state.runs).toBe(1);
  state.isAway = false;
  await vi.advanceTimersByTimeAsync(JOB_HELD_RETRY_MS);
  expect(await result).toEqual(DONE);
  expect(state.runs).toBe(2);
});

test('a job goes back to the queue after the longest hold', async () => {
  const { state, run } = world();
  const result = run(DATA);
  await vi.advanceTimersByTimeAsync(JOB_HELD_MS);
  expect(await result).toEqual({ kind: 'wait', forMs: JOB_HELD_RETRY_MS });
  expect(state.runs).toBe(1);
});

test('a worker that closes holds no job', async () => {
  const { state, run } = world();
  const result = run(DATA);
  await vi.advanceTimersByTimeAsync(JOB_HELD_RETRY_MS);
  state.isClosing = true;
  await vi.advanceTimersByTimeAsync(JOB_HELD_RETRY_MS);
  expect(await result).toMatchObject({ kind: 'wait' });
});

test('an error while the database answers fails the job', async () => {
  const handle = () => Promise.reject(new Error('a bug'));
  const run = holdWhileAway(handle, { isAway: () => false }, () => false);
  await expect(run(DATA)).rejects.toThrow('a bug');
});
