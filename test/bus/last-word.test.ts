import { expect, test } from 'vitest';
import { createLastWord } from '../../src/bus/last-word.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A word that is noted when it is sent, and comes back when the test says so. */
function world(waitMs = 60_000, deaf = () => {}) {
  const said: string[] = [];
  let fails: Error | null = null;
  const lastWord = createLastWord(
    async (word) => {
      said.push(word);
      if (fails) throw fails;
    },
    { waitMs, pauseMs: 0 },
    deaf,
  );
  const untilSaid = (count: number) => expect.poll(() => said.length, { interval: 1 }).toBe(count);
  return {
    ...lastWord,
    said,
    untilSaid,
    fail(error: Error | null) {
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

test('is deaf after three words in a row that Postgres took and that did not come back', async () => {
  let deaf = 0;
  const { caughtUp, heard, said, fail } = world(10, () => deaf++);
  const lose = async (times: number) => {
    for (let n = 0; n < times; n++) expect(await caughtUp()).toBe(false);
  };
  await lose(2);
  // Late, but it came.
  heard(said.at(-1) ?? '');
  await lose(2);
  fail(new Error('no database'));
  await lose(1);
  fail(null);
  await lose(2);
  expect(deaf).toBe(0);
  await lose(1);
  expect(deaf).toBe(1);
  // The pause doubles where it did not help, until a word is heard.
  await lose(5);
  expect(deaf).toBe(1);
  await lose(1);
  expect(deaf).toBe(2);
  heard(said.at(-1) ?? '');
  await lose(3);
  expect(deaf).toBe(3);
});
