import { afterEach, expect, it, vi } from 'vitest';
import { AdmissionControl } from '../../src/dispatch/admission.ts';

const SLICE_MS = 100;
let nowMs = 0;
vi.spyOn(performance, 'now').mockImplementation(() => nowMs);

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
afterEach(async () => {
  for (let turn = 0; turn < 4; turn++) await nextTurn();
});

/** Admission control, and the started orders in their order; each one takes a fixed time of a slice. */
function world({ committing = 0, tookMs = 0 } = {}) {
  const backlog = { orders: committing };
  const admission = new AdmissionControl(SLICE_MS, 4, backlog);
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
  const { admission, began, come } = world({ tookMs: SLICE_MS / 2 });
  for (const n of [1, 2, 3, 4]) void come(n);
  await nextTurn();
  expect(admission.isLate()).toBe(false);
  await nextTurn();
  expect(began).toEqual([1, 2]);
  expect(admission.isLate()).toBe(true);
  await nextTurn();
  expect(began).toEqual([1, 2, 3, 4]);
  expect(admission.isLate()).toBe(false);
});

it('is not late while no order is due', async () => {
  const { admission, began, come } = world();
  void come(1);
  await nextTurn();
  void come(2);
  await nextTurn();
  expect(began).toEqual([1]);
  expect(admission.isLate()).toBe(false);
});

it('refuses an order while the longest queue waits for its turn or its commit', async () => {
  const { admission, backlog, come } = world({ committing: 2 });
  expect([come(1), come(2), come(3)].map((entry) => entry !== null && entry !== undefined)).toEqual([
    true,
    true,
    false,
  ]);
  expect(admission.isFull()).toBe(true);
  backlog.orders = 1;
  expect(admission.isFull()).toBe(false);
});
