import { expect, test } from 'vitest';
import { together } from '../../src/store/together.ts';

function reader(fail = false) {
  const asked: (readonly string[])[] = [];
  const read = together<string>(async (keys) => {
    asked.push(keys);
    if (fail) throw new Error('away');
    return new Map(keys.filter((key) => key !== 'nobody').map((key) => [key, `value of ${key}`]));
  }, 3);
  return { asked, read };
}

test('what is asked for in one turn is read by one statement, each asker gets its own', async () => {
  const { asked, read } = reader();
  expect(await Promise.all([read('a'), read('nobody'), read('b')])).toEqual(['value of a', null, 'value of b']);
  expect(asked).toEqual([['a', 'nobody', 'b']]);
});

test('what is asked for later is read anew', async () => {
  const { asked, read } = reader();
  await read('a');
  await read('a');
  expect(asked).toEqual([['a'], ['a']]);
});

test('one statement reads a bounded number', async () => {
  const { asked, read } = reader();
  await Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(read));
  expect(asked).toEqual([['a', 'b', 'c'], ['d', 'e', 'f'], ['g']]);
});

test('a reading that fails fails for each of its askers, and for nobody later', async () => {
  const { read } = reader(true);
  const outcomes = await Promise.allSettled([read('a'), read('b')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await expect(read('c')).rejects.toThrow('away');
});
