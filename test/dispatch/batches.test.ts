import { expect, it, onTestFinished } from 'vitest';
import { createBatches } from '../../src/dispatch/batches.ts';

const soon = { interval: 5 };

/** Batches that the test completes, or fails as often as it says. */
function world({ isWorthAnotherTry = true } = {}) {
  const state = { isAway: false, overflows: 0, failures: 0 };
  const handled: string[][] = [];
  const gates: (() => void)[] = [];
  const batches = createBatches(
    async (ids) => {
      if (state.isAway) throw new Error('away');
      await new Promise<void>((resolve) => gates.push(resolve));
      handled.push([...ids]);
    },
    { maxBatch: 2, maxWaiting: 4, retryMs: 1 },
    () => {
      state.failures++;
      return isWorthAnotherTry;
    },
    () => {
      state.overflows++;
    },
  );
  onTestFinished(() => batches.close());
  /** Completes batches one after another until `count` have been handled. */
  const until = async (count: number) => {
    await expect
      .poll(() => {
        gates.shift()?.();
        return handled.length;
      }, soon)
      .toBe(count);
    return handled;
  };
  return { batches, state, until };
}

it('handles ids that arrive meanwhile in one batch, each once', async () => {
  const { batches, until } = world();
  batches.add(['a']);
  batches.add(['b', 'c', 'b', 'd']);
  expect(await until(3)).toEqual([['a'], ['b', 'c'], ['d']]);
});

it('tries a failed batch again, with the ids that arrived meanwhile', async () => {
  const { batches, state, until } = world();
  state.isAway = true;
  batches.add(['a']);
  await expect.poll(() => state.failures, soon).toBeGreaterThan(1);
  batches.add(['b', 'a']);
  state.isAway = false;
  expect(await until(1)).toHaveLength(1);
  expect((await until(1)).flat().toSorted()).toEqual(['a', 'b']);
});

it('drops a batch that is not to be tried again', async () => {
  const { batches, state, until } = world({ isWorthAnotherTry: false });
  state.isAway = true;
  batches.add(['a']);
  await expect.poll(() => state.failures, soon).toBe(1);
  state.isAway = false;
  batches.add(['b']);
  expect(await until(1)).toEqual([['b']]);
});

it('drops all ids if too many wait, and reports it once', async () => {
  const { batches, state, until } = world();
  batches.add(['a']);
  batches.add(['b', 'c', 'd', 'e', 'f']);
  expect(state.overflows).toBe(1);
  batches.add(['g']);
  expect(await until(2)).toEqual([['a'], ['g']]);
});
