import { expect, test } from 'vitest';
import { Turn } from '../../src/http/load.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('a turn is counted from the first request of it, and the next begins anew', async () => {
  const turn = new Turn();
  expect(turn.tookMs()).toBe(0);
  const beganMs = performance.now();
  while (performance.now() - beganMs < 5);
  await Promise.resolve();
  expect(turn.tookMs()).toBeGreaterThanOrEqual(5);
  await nextTurn();
  expect(turn.tookMs()).toBe(0);
});
