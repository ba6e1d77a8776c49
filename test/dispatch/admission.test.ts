import { afterEach, expect, it, vi } from 'vitest';
import { AdmissionControl } from '../../src/dispatch/admission.ts';
import { ASSUMED_ORDER_RATE, CommitBacklog, MAX_ORDER_WAIT_MS } from '../../src/dispatch/commit-backlog.ts';

const SLICE_MS = 100;
let nowMs = 0;
vi.spyOn(performance, 'now').mockImplementation(() => nowMs);

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
afterEach(async () => {
  for (let turn = 0; turn < 4; turn++) await nextTurn();
});

/** Admission control, and the started orders in their order; each one takes a fixed time of a slice. */
function world({ committing = 0, tookMs = 0 } = {}) {
  const backlog = new CommitBacklog();
  backlog.started = committing;
  const admission = new AdmissionControl(SLICE_MS, backlog);
  const began: number[] = [];
  const come = (n: number) =>
    admission.enter()?.then(() => {
      began.push(n);
      nowMs += tookMs;
    });
  return { admission, backlog, began, come };
}

it('starts an order in the second turn after its arrival', async () => {
  const { began, come } = world();
  void come(1);
  await nextTurn();
  expect(began).toEqual([]);
  void come(2);
  await nextTurn();
  expect(began).toEqual([1]);
  await nextTurn();
  expect(began).toEqual([1, 2]);
});

it('starts as many orders in a turn as fit into its slice, in their order', async () => {
  const { began, come } = world({ tookMs: SLICE_MS / 2 });
  for (const n of [1, 2, 3, 4]) void come(n);
  await nextTurn();
  await nextTurn();
  expect(began).toEqual([1, 2]);
  await nextTurn();
  expect(began).toEqual([1, 2, 3, 4]);
});

it('refuses an order that would wait too long, whether the others wait for their turn or their commit', async () => {
  const room = (ASSUMED_ORDER_RATE * MAX_ORDER_WAIT_MS) / 1_000;
  const { admission, backlog, come } = world({ committing: room - 2 });
  expect([come(1), come(2), come(3)].map((entry) => entry === null || entry === undefined)).toEqual([
    false,
    false,
    true,
  ]);
  expect(admission.isFull()).toBe(true);
  backlog.started--;
  expect(admission.isFull()).toBe(false);
  await nextTurn();
  await nextTurn();
  expect(backlog.queued).toBe(0);
});
