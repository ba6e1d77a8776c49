import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createListTurns } from '../../src/http/list-turns.ts';
import { gate } from './support.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Lists of one store in turns of two, of which one may wait; each ends when its gate opens. */
function world() {
  const turns = createListTurns({ atOnce: 2, waiting: 1, waitMs: 1_000 });
  const started: string[] = [];
  return {
    started,
    list(store: string, name: string) {
      const { opened, open } = gate();
      const done = turns.run(store, async () => {
        started.push(name);
        await opened;
        return name;
      });
      const ended = done.catch((error: { code: string }) => error.code);
      return { end: () => open(), ended };
    },
  };
}
const turn = () => vi.advanceTimersByTimeAsync(0);

test('two lists of a store are read at once, and a third when one of them is done', async () => {
  const { list, started } = world();
  const lists = ['a', 'b', 'c'].map((name) => list('store', name));
  await turn();
  expect(started).toEqual(['a', 'b']);
  lists[0]?.end();
  await turn();
  expect(started).toEqual(['a', 'b', 'c']);
  for (const each of lists) each.end();
  expect(await Promise.all(lists.map(({ ended }) => ended))).toEqual(['a', 'b', 'c']);
});

test('one more than may wait is refused at once, and one that waits too long then', async () => {
  const { list, started } = world();
  const lists = ['a', 'b', 'c', 'd'].map((name) => list('store', name));
  expect(await lists[3]?.ended).toBe('rate_limited');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await lists[2]?.ended).toBe('rate_limited');
  lists[0]?.end();
  lists[1]?.end();
  await turn();
  expect(started).toEqual(['a', 'b']);
  expect(vi.getTimerCount()).toBe(0);
});

test('a store waits for no other one', async () => {
  const { list, started } = world();
  for (const name of ['a', 'b', 'c']) void list('one', name);
  list('other', 'x').end();
  await turn();
  expect(started).toEqual(['a', 'b', 'x']);
});

test('a list that fails makes room as well', async () => {
  const turns = createListTurns({ atOnce: 1, waiting: 1, waitMs: 1_000 });
  await expect(turns.run('store', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await turns.run('store', async () => 'read')).toBe('read');
});
