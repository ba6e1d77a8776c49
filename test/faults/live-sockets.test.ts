import { expect, it } from 'vitest';
import { BEHIND_MS, Follows } from './live-sockets.ts';

/** What is found where the tables say 2, the client shows 1, and this happens in the time that it has. */
function found(meanwhile: (follows: Follows, wait: (ms: number) => void) => void): readonly string[] {
  let nowMs = 0;
  const follows = new Follows(() => nowMs);
  follows.look('page', true, 1, 2);
  meanwhile(follows, (ms) => {
    nowMs += ms;
  });
  return follows.findings;
}

const late = [`page shows 1 on an open socket, and has been 2 for ${BEHIND_MS + 1} ms`];

it('finds an open socket that shows an earlier state for too long, once', () => {
  expect(
    found((follows, wait) => {
      wait(BEHIND_MS);
      follows.look('page', true, 1, 2);
      expect(follows.findings).toEqual([]);
      wait(1);
      for (let look = 0; look < 2; look++) follows.look('page', true, 1, 2);
    }),
  ).toEqual(late);
});

it('counts on from the first change where a second one is missed, too', () => {
  expect(
    found((follows, wait) => {
      follows.look('page', true, 1, 3);
      wait(BEHIND_MS + 1);
      follows.look('page', true, 1, 3);
    }),
  ).toEqual(late);
});

it('finds an order that is shown though it is gone', () => {
  let nowMs = 0;
  const follows = new Follows(() => nowMs);
  follows.look('phone', true, 1, null);
  nowMs = BEHIND_MS + 1;
  follows.look('phone', true, 1, null);
  expect(follows.findings).toHaveLength(1);
});

it.each<[string, (follows: Follows) => void]>([
  ['caught up between two looks', (follows) => follows.shows('page', 2)],
  ['shows a later state', (follows) => follows.shows('page', 4)],
  ['had no socket for a while', (follows) => follows.look('page', false, 1, 2)],
  ['does not show what is gone by now', (follows) => follows.look('page', true, null, null)],
])('gives one that %s its time anew', (_, meanwhile) => {
  expect(
    found((follows, wait) => {
      wait(BEHIND_MS);
      meanwhile(follows);
      follows.look('page', true, 1, 3);
      wait(BEHIND_MS);
      follows.look('page', true, 1, 3);
    }),
  ).toEqual([]);
});
