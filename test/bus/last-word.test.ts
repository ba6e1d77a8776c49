import { expect, test } from 'vitest';
import { createLastWord } from '../../src/bus/last-word.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A word that is noted when it is sent, and comes back when the test says so. */
function world(waitMs = 60_000) {
  const said: string[] = [];
  let fails: Error | null = null;
  const lastWord = createLastWord(
    async (word) => {
      said.push(word);
      if (fails) throw fails;
    },
    { waitMs, pauseMs: 0 },
  );
  const untilSaid = (count: number) => expect.poll(() => said.length, { interval: 1 }).toBe(count);
  return {
    ...lastWord,
    said,
    untilSaid,
    fail(error: Error) {
      fails = error;
    },
  };
}

test('is caught up when the word that was sent after the call is back, and not before', async () => {
  const { caughtUp, heard, said, untilSaid } = world();
  let answer: boolean | null = null;
  const asked = caughtUp().then((isCaughtUp) => {
    answer = isCaughtUp;
  });
  await untilSaid(1);
  heard('0');
  heard('another process’s');
  await turn();
  expect(answer).toBeNull();
  heard(said[0] ?? '');
  await asked;
  expect(answer).toBe(true);
});

test('callers share a word that is not sent yet; who comes later waits for the next', async () => {
  const { caughtUp, heard, said, untilSaid } = world();
  const early = [caughtUp(), caughtUp(), caughtUp()];
  await untilSaid(1);
  const late = [caughtUp(), caughtUp()];
  await turn();
  expect(said).toHaveLength(1);
  heard(said[0] ?? '');
  expect(await Promise.all(early)).toEqual([true, true, true]);
  await untilSaid(2);
  heard(said[1] ?? '');
  expect(await Promise.all(late)).toEqual([true, true]);
});

test('is not caught up where the word does not come back in time, and asks anew then', async () => {
  const { caughtUp, heard, said, untilSaid } = world(10);
  expect(await caughtUp()).toBe(false);
  const again = caughtUp();
  await untilSaid(2);
  heard(said[0] ?? '');
  heard(said[1] ?? '');
  expect(await again).toBe(true);
});

test('is not caught up where the word cannot be sent', async () => {
  const { caughtUp, fail } = world();
  fail(new Error('no database'));
  expect(await caughtUp()).toBe(false);
  expect(await caughtUp()).toBe(false);
});
