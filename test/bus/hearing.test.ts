import { expect, test } from 'vitest';
import { createHearing } from '../../src/bus/hearing.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));
const NEVER = Number.NEGATIVE_INFINITY;

/** Words that come back when they are told to, and a clock that stands still. */
function world() {
  const words: ((isHeard: boolean) => void)[] = [];
  let nowMs = 0;
  const hearing = createHearing({ caughtUp: () => new Promise((back) => void words.push(back)) }, 250, () => nowMs);
  return {
    ...hearing,
    words,
    at(ms: number) {
      nowMs = ms;
    },
    async back(isHeard = true) {
      words.at(-1)?.(isHeard);
      await turn();
    },
  };
}

test('everything is heard up to when the last word that came back was said', async () => {
  const { upToMs, words, at, back } = world();
  expect(upToMs(0)).toBe(NEVER);
  at(40);
  await back();
  // Before the first word came back, this process may not have listened.
  expect(upToMs(39)).toBe(NEVER);
  expect(upToMs(40)).toBe(0);
  at(300);
  expect(upToMs(40)).toBe(0);
  at(310);
  await back();
  expect(upToMs(40)).toBe(300);
  expect(words).toHaveLength(2);
});

test('a word is said while somebody asks, one at a time, and not more often than stated', async () => {
  const { upToMs, words, at, back } = world();
  for (const ms of [0, 100, 900]) {
    at(ms);
    upToMs(0);
  }
  expect(words).toHaveLength(1);
  await back();
  upToMs(0);
  expect(words).toHaveLength(2);
  await back();
  at(1_149);
  upToMs(0);
  expect(words).toHaveLength(2);
});

test('a word that does not come back proves nothing, nor does one from before an interruption', async () => {
  const { upToMs, interrupted, at, back } = world();
  upToMs(0);
  await back(false);
  expect(upToMs(0)).toBe(NEVER);
  at(300);
  upToMs(0);
  interrupted();
  await back();
  expect(upToMs(300)).toBe(NEVER);
  at(600);
  upToMs(300);
  at(620);
  await back();
  expect(upToMs(300)).toBe(NEVER);
  expect(upToMs(620)).toBe(600);
});
