import { afterEach, expect, it, vi } from 'vitest';
import { Intake } from '../../src/http/load.ts';

const SLICE_MS = 100;
let nowMs = 0;
vi.spyOn(performance, 'now').mockImplementation(() => nowMs);

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
afterEach(nextTurn);

/** An intake, and who has begun, in their order. */
function world(maxPresent = 10) {
  const intake = new Intake(SLICE_MS, maxPresent);
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

it('takes no more than may be present, until one leaves', () => {
  const { intake } = world(2);
  const entered = [intake.enter(), intake.enter(), intake.enter()];
  expect(entered.map((entry) => entry !== null)).toEqual([true, true, false]);
  expect(intake.isFull()).toBe(true);
  intake.leave();
  expect(intake.isFull()).toBe(false);
});
