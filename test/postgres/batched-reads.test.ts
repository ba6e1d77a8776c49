import { expect, test } from 'vitest';
import { batched, limitConcurrency } from '../../src/postgres/batched-reads.ts';

type Behaviour = { readonly maxInFlight?: number; readonly handle?: (keys: readonly string[]) => Promise<void> };

function reader({ maxInFlight = 10, handle = async () => {} }: Behaviour = {}) {
  const asked: (readonly string[])[] = [];
  const read = batched<string, string>(
    async (keys) => {
      asked.push(keys);
      await handle(keys);
      return new Map(keys.filter((key) => key !== 'nobody').map((key) => [key, `value of ${key}`]));
    },
    (key) => key,
    3,
    limitConcurrency(maxInFlight),
  );
  return { asked, read };
}

/** As the client throws it: invalid text representation, deadlock detected. */
const refused = (code: string) =>
  Object.assign(new Error('refused'), { name: 'PostgresError', severity: 'ERROR', code });

test('what is asked for in one turn is read by one statement, each caller gets its own', async () => {
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

test('what is asked for while statements are in flight shares the next one', async () => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { asked, read } = reader({ maxInFlight: 1, handle: () => gate });
  const answers = [read('a')];
  await new Promise(setImmediate);
  answers.push(read('b'));
  await new Promise(setImmediate);
  answers.push(read('c'));
  await new Promise(setImmediate);
  expect(asked).toEqual([['a']]);
  open();
  await Promise.all(answers);
  expect(asked).toEqual([['a'], ['b', 'c']]);
});

test('two of one key never share a statement', async () => {
  const { asked, read } = reader({ maxInFlight: 1 });
  await Promise.all(['a', 'a', 'b', 'a'].map(read));
  expect(asked).toEqual([['a', 'b'], ['a'], ['a']]);
});

test('a reading that fails fails for each of its callers, and for nobody later', async () => {
  const { asked, read } = reader({ handle: () => Promise.reject(new Error('away')) });
  const outcomes = await Promise.allSettled([read('a'), read('b')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(asked).toEqual([['a', 'b']]);
  await expect(read('c')).rejects.toThrow('away');
});

test.each(['22P02', '40P01'])('where one row makes the statement fail with %s, the others pass', async (code) => {
  const { asked, read } = reader({
    handle: async (keys) => {
      if (keys.includes('bad')) throw refused(code);
    },
  });
  const outcomes = await Promise.allSettled([read('a'), read('bad'), read('b')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(asked).toEqual([['a', 'bad', 'b'], ['a'], ['bad'], ['b']]);
});

test('statements of one lane are not in flight beside each other, each kind in its turn', async () => {
  const lane = limitConcurrency(1);
  const began: string[] = [];
  let inFlight = 0;
  const kind = (name: string) =>
    batched<string, string>(
      async (keys) => {
        began.push(`${name} ${keys}`);
        expect(++inFlight).toBe(1);
        await new Promise(setImmediate);
        inFlight--;
        return new Map(keys.map((key) => [key, name]));
      },
      (key) => key,
      2,
      lane,
    );
  const [first, second] = [kind('first'), kind('second')];
  await Promise.all([first('a'), first('b'), first('c'), second('a'), second('b')]);
  expect(began).toEqual(['first a,b', 'second a,b', 'first c']);
});
