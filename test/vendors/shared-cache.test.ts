import { expect, test } from 'vitest';
import { SharedCache } from '../../src/vendors/shared-cache.ts';

const FOREVER = Number.POSITIVE_INFINITY;

test('keeps a value for its caller until its time is over', () => {
  const cache = new SharedCache<number>(10, 5);
  cache.set('a', 'key', 1, 100);
  cache.set('b', 'key', 2, 200);
  expect([cache.get('a', 'key', 99), cache.get('b', 'key', 99), cache.get('c', 'key', 99)]).toEqual([1, 2, undefined]);
  expect([cache.get('a', 'key', 100), cache.get('a', 'key', 0), cache.get('b', 'key', 100)]).toEqual([
    undefined,
    undefined,
    2,
  ]);
});

test('forgets what a caller used least recently where it has too many, and nothing of others', () => {
  const cache = new SharedCache<number>(100, 3);
  cache.set('other', 'x', 0, FOREVER);
  for (const [value, key] of ['a', 'b', 'c'].entries()) cache.set('flood', key, value, FOREVER);
  cache.get('flood', 'a', 0);
  for (let i = 0; i < 2; i++) cache.set('flood', `new ${i}`, i, FOREVER);
  expect(['a', 'b', 'c'].map((key) => cache.get('flood', key, 0))).toEqual([0, undefined, undefined]);
  expect(cache.get('other', 'x', 0)).toBe(0);
});

test('takes from the caller with the most where all room is used', () => {
  const cache = new SharedCache<number>(10, 8);
  for (const key of ['1', '2', '3']) cache.set('small', key, 0, FOREVER);
  for (let i = 0; i < 100; i++) {
    cache.set('flood', `${i}`, i, FOREVER);
    cache.set('second flood', `${i}`, i, FOREVER);
  }
  expect(['1', '2', '3'].map((key) => cache.get('small', key, 0))).toEqual([0, 0, 0]);
  const kept = (caller: string) =>
    Array.from({ length: 100 }, (_, i) => cache.get(caller, `${i}`, 0)).filter((value) => value !== undefined).length;
  const sizes = [kept('flood'), kept('second flood')];
  expect(sizes.toSorted()).toEqual([3, 4]);
});

test('a value that is set again counts once', () => {
  const cache = new SharedCache<number>(2, 2);
  for (let i = 0; i < 10; i++) cache.set('a', 'same', i, FOREVER);
  cache.set('b', 'key', 1, FOREVER);
  expect([cache.get('a', 'same', 0), cache.get('b', 'key', 0)]).toEqual([9, 1]);
});
