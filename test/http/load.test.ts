import { afterEach, expect, it, vi } from 'vitest';
import { Intake } from '../../src/http/load.ts';

const SLICE_MS = 100;
let nowMs = 0;
vi.spyOn(performance, 'now').mockImplementation(() => nowMs);

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
afterEach(nextTurn);

/** An intake, and who has begun, in their order. */
function world(behind = () => 0) {
  const intake = new Intake(SLICE_MS, 3, behind);
  const began: number[] = [];
  const come = (n: number): void => void intake.enter()?.then(() => began.push(n));
  return { intake, began, come };
}

it('lets requests begin at once while the slice lasts', async () => {
  const { began, come } = world();
  come(1);
  nowMs += SLICE_MS / 2;
  come(2);
  await Promise.resolve();
  expect(began).toEqual([1, 2]);
});

it('lets the others wait for the next turn, and begin in the order they came', async () => {
  const { intake, began, come } = world();
  come(1);
  nowMs += SLICE_MS;
  come(2);
  come(3);
  intake.isFull();
  await Promise.resolve();
  expect(began).toEqual([1]);
  await nextTurn();
  expect(began).toEqual([1, 2, 3]);
});

it('goes on within a turn that takes long, after as much time as a slice has', async () => {
  const { intake, began, come } = world();
  come(1);
  nowMs += SLICE_MS;
  come(2);
  nowMs += SLICE_MS;
  intake.isFull();
  await Promise.resolve();
  expect(began).toEqual([1, 2]);
});

it('stops where the slice ends, whoever waits', async () => {
  const { intake, began, come } = world();
  come(1);
  nowMs += SLICE_MS;
  const slow = intake.enter()?.then(() => {
    nowMs += SLICE_MS;
  });
  come(2);
  nowMs += SLICE_MS;
  intake.isFull();
  await slow;
  await Promise.resolve();
  expect(began).toEqual([1]);
  await nextTurn();
  expect(began).toEqual([1, 2]);
});

it('takes no more than may wait, here and behind', () => {
  let behind = 2;
  const { intake } = world(() => behind);
  void intake.enter();
  nowMs += SLICE_MS;
  expect([intake.enter(), intake.enter()].map((entry) => entry !== null)).toEqual([true, false]);
  expect(intake.isFull()).toBe(true);
  behind = 1;
  expect(intake.isFull()).toBe(false);
});
