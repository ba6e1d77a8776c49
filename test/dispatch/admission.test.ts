import { afterEach, expect, it, vi } from 'vitest';
import { AdmissionControl } from '../../src/dispatch/admission.ts';
import {
  ASSUMED_ORDER_RATE,
  CommitBacklog,
  MAX_ORDER_WAIT_MS,
  PLACES_PER_FREE,
} from '../../src/dispatch/commit-backlog.ts';

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
    admission.enter('a')?.then(() => {
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

const ROOM = (ASSUMED_ORDER_RATE * MAX_ORDER_WAIT_MS) / 1_000;

it('refuses an order that would wait too long, whether the others wait for their turn or their commit', async () => {
  const { admission, backlog } = world();
  for (let n = 0; n < ROOM - 2; n++) backlog.countStarted('a', 1);
  expect([1, 2, 3].map(() => admission.enter('a') === null)).toEqual([false, false, true]);
  expect([admission.isFull(), admission.isFullFor('a')]).toEqual([true, true]);
  backlog.countStarted('a', -1);
  expect([admission.isFull(), admission.isFullFor('a')]).toEqual([false, false]);
  await nextTurn();
  await nextTurn();
  expect(backlog.queued).toBe(0);
});

it('leaves places to the others, however many orders a few stores send', async () => {
  const { admission } = world();
  const flood = (store: string): number => {
    let taken = 0;
    while (admission.enter(store)) taken++;
    return taken;
  };
  expect(flood('a')).toBe(ROOM);
  expect(flood('b')).toBe((ROOM / PLACES_PER_FREE) * (PLACES_PER_FREE / (PLACES_PER_FREE + 1)) + 2 / 11);
  expect(admission.isFullFor('a')).toBe(true);
  expect(admission.enter('c')).not.toBeNull();
});
