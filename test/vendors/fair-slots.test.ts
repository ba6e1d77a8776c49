import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FairSlots } from '../../src/vendors/fair-slots.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Slots, and the callers that got one, in turn. */
function world(slots: number, maxWaiting = 100) {
  const fair = new FairSlots(slots, maxWaiting);
  const served: string[] = [];
  const refused: string[] = [];
  return {
    fair,
    served,
    refused,
    async enter(...callers: string[]) {
      for (const caller of callers) {
        void fair.enter(caller, 100).then((hasSlot) => (hasSlot ? served : refused).push(caller));
      }
      await vi.advanceTimersByTimeAsync(0);
    },
    async leave(...callers: string[]) {
      for (const caller of callers) fair.leave(caller);
      await vi.advanceTimersByTimeAsync(0);
    },
  };
}
const times = (caller: string, count: number): string[] => Array(count).fill(caller);

test('a caller that is alone gets half of the slots, and leaves one for each of the next few', async () => {
  const { enter, served } = world(8);
  await enter(...times('flood', 50));
  expect(served).toEqual(times('flood', 4));
  await enter(...times('second', 50));
  expect(served.slice(4)).toEqual(times('second', 2));
  await enter('third', 'fourth');
  expect(served.slice(6)).toEqual(['third', 'fourth']);
});

test('a slot that gets free goes to the caller that holds the fewest', async () => {
  const { enter, leave, served } = world(4);
  await enter('flood', 'flood', 'flood', 'one', 'two');
  expect(served).toEqual(['flood', 'flood', 'one', 'two']);
  await enter('third');
  await leave('one');
  expect(served.slice(4)).toEqual(['third']);
  await leave('two', 'third');
  expect(served.slice(5)).toEqual([]);
  await leave('flood');
  expect(served.slice(5)).toEqual(['flood']);
});

test('callers that wait are served in turn, each in the order of its own line', async () => {
  const { enter, leave, served } = world(1);
  await enter('a', 'a', 'a', 'b', 'b', 'c');
  for (let i = 0; i < 5; i++) await leave(served.at(-1) as string);
  expect(served).toEqual(['a', 'a', 'b', 'c', 'a', 'b']);
});

test('goes without a slot where the wait is too long, or at once where its line is full', async () => {
  const { enter, leave, served, refused } = world(1, 2);
  await enter('a', 'a', 'a', 'a', 'b');
  expect([served, refused]).toEqual([['a'], ['a']]);
  await vi.advanceTimersByTimeAsync(99);
  expect(refused).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(refused.toSorted()).toEqual(['a', 'a', 'a', 'b']);
  await leave('a');
  await enter('b');
  // Not the number of timers, which others in the process may have set, too.
  await vi.advanceTimersByTimeAsync(1_000);
  expect([served, refused.length]).toEqual([['a', 'b'], 4]);
});

test('gives every slot back, after any course of callers', async () => {
  const { enter, leave, served, refused } = world(3, 5);
  for (let i = 0; i < 40; i++) await enter(`caller ${(i * 7) % 5}`);
  for (let i = 0; i < served.length; i++) await leave(served[i] as string);
  expect(served.length + refused.length).toBe(40);
  const again = world(3);
  const before = served.length;
  await enter('x', 'y', 'z');
  await again.enter('x', 'y', 'z');
  expect(served.slice(before)).toEqual(again.served);
});
