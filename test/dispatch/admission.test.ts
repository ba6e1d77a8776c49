import { afterEach, expect, it, vi } from 'vitest';
import { AdmissionControl } from '../../src/dispatch/admission.ts';
import { CommitBacklog } from '../../src/dispatch/commit-backlog.ts';
import { ASSUMED_ORDER_RATE, LATE_ORDER_MS, MAX_ORDER_WAIT_MS, MIN_UNSTORED_ORDERS } from '../../src/limits.ts';

const SLICE_MS = 100;
const SHARE = 0.25;
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
  const admission = new AdmissionControl({ leastMs: SLICE_MS, share: SHARE }, backlog);
  const began: number[] = [];
  const refused: number[] = [];
  const come = async (n: number): Promise<void> => {
    if (!(await admission.enter())) {
      refused.push(n);
      return;
    }
    began.push(n);
    nowMs += tookMs;
  };
  return { admission, backlog, began, refused, come };
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

/** Takes the rest of a turn. */
const passTurn = async (ms: number): Promise<void> => {
  nowMs += ms;
  await nextTurn();
};

it('gives the orders a share of a long turn', async () => {
  const { began, come } = world({ tookMs: SLICE_MS });
  for (let n = 1; n <= 9; n++) void come(n);
  await nextTurn();
  await passTurn((3 / SHARE) * SLICE_MS);
  expect(began).toEqual([1, 2, 3]);
  await nextTurn();
  expect(began).toEqual([1, 2, 3, 4]);
});

it('refuses what has waited too long for its turn, and starts what came later', async () => {
  const { began, refused, come, backlog } = world();
  for (const n of [1, 2, 3]) void come(n);
  await passTurn(LATE_ORDER_MS - 1);
  void come(4);
  await passTurn(1);
  expect([began, refused]).toEqual([[], [1, 2, 3]]);
  await nextTurn();
  expect([began, backlog.queued]).toEqual([[4], 0]);
});

it('takes no order in while the oldest one has waited too long for its turn', async () => {
  const { admission, come } = world({ committing: MIN_UNSTORED_ORDERS });
  void come(1);
  nowMs += LATE_ORDER_MS - 1;
  expect(admission.isFull()).toBe(false);
  nowMs += 1;
  expect(admission.isFull()).toBe(true);
  await nextTurn();
  expect(admission.isFull()).toBe(false);
});

it('refuses an order that would wait too long, whether the others wait for their turn or their commit', async () => {
  const room = (ASSUMED_ORDER_RATE * MAX_ORDER_WAIT_MS) / 1_000;
  const { admission, backlog, refused, come } = world({ committing: room - 2 });
  const coming = [come(1), come(2), come(3)];
  expect(admission.isFull()).toBe(true);
  backlog.started--;
  expect(admission.isFull()).toBe(false);
  await Promise.all(coming);
  expect([refused, backlog.queued]).toEqual([[3], 0]);
});
