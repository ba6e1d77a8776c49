import { expect, onTestFinished, test, vi } from 'vitest';
import { batched, limitConcurrency } from '../../src/postgres/batched-reads.ts';

type Behaviour = {
  readonly maxInFlight?: number;
  readonly everyMs?: (key: string) => number;
  readonly locksRows?: boolean;
  readonly handle?: (keys: readonly string[]) => Promise<void>;
};

function reader({ maxInFlight = 10, everyMs = () => 0, locksRows = false, handle = async () => {} }: Behaviour = {}) {
  const statements: (readonly string[])[] = [];
  const read = batched<string, string>(
    async (keys) => {
      statements.push(keys);
      await handle(keys);
      return new Map(keys.filter((key) => key !== 'nobody').map((key) => [key, `value of ${key}`]));
    },
    (key) => key,
    3,
    limitConcurrency(maxInFlight),
    everyMs,
    locksRows,
  );
  return { statements, read };
}

/** Errors as the client throws them: invalid text representation, deadlock detected. */
const refused = (code: string) =>
  Object.assign(new Error('refused'), { name: 'PostgresError', severity: 'ERROR', code });

test('items of one turn share a statement, and each caller gets its own value', async () => {
  const { statements, read } = reader();
  expect(await Promise.all([read('a'), read('nobody'), read('b')])).toEqual(['value of a', null, 'value of b']);
  expect(statements).toEqual([['a', 'nobody', 'b']]);
});

test('a later item is read again', async () => {
  const { statements, read } = reader();
  await read('a');
  await read('a');
  expect(statements).toEqual([['a'], ['a']]);
});

test('a statement has a bounded number of items', async () => {
  const { statements, read } = reader();
  await Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(read));
  expect(statements).toEqual([['a', 'b', 'c'], ['d', 'e', 'f'], ['g']]);
});

test('items that arrive while the limit is reached share the next statement', async () => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { statements, read } = reader({ maxInFlight: 1, handle: () => gate });
  const answers = [read('a')];
  await new Promise(setImmediate);
  answers.push(read('b'));
  await new Promise(setImmediate);
  answers.push(read('c'));
  await new Promise(setImmediate);
  expect(statements).toEqual([['a']]);
  open();
  await Promise.all(answers);
  expect(statements).toEqual([['a'], ['b', 'c']]);
});

test('two items of one key never share a statement', async () => {
  const { statements, read } = reader({ maxInFlight: 1 });
  await Promise.all(['a', 'a', 'b', 'a'].map(read));
  expect(statements).toEqual([['a', 'b'], ['a'], ['a']]);
});

test('a failed statement fails for each of its callers and for no later one', async () => {
  const { statements, read } = reader({ handle: () => Promise.reject(new Error('away')) });
  const outcomes = await Promise.allSettled([read('a'), read('b')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(statements).toEqual([['a', 'b']]);
  await expect(read('c')).rejects.toThrow('away');
});

test.each(['22P02', '40P01'])('if one row makes the statement fail with %s, the others succeed', async (code) => {
  const { statements, read } = reader({
    handle: async (keys) => {
      if (keys.includes('bad')) throw refused(code);
    },
  });
  const outcomes = await Promise.allSettled([read('a'), read('bad'), read('b')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(statements).toEqual([['a', 'bad', 'b'], ['a'], ['bad'], ['b']]);
});

test('an item that waits for a locked row until its statement is ended fails none of its batch', async () => {
  const { statements, read } = reader({
    locksRows: true,
    handle: async (keys) => {
      if (keys.includes('locked')) throw refused('57014');
    },
  });
  const outcomes = await Promise.allSettled([read('locked'), read('a'), read('b')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(statements).toEqual([['locked', 'a', 'b'], ['locked'], ['a'], ['b']]);
});

test.each([
  [true, [['a', 'b', 'c'], ['a'], ['b']]],
  [false, [['a', 'b', 'c']]],
])('a database that ends every statement is not asked for each item (locks rows: %s)', async (locksRows, asked) => {
  const { statements, read } = reader({ locksRows, handle: () => Promise.reject(refused('57014')) });
  const outcomes = await Promise.allSettled(['a', 'b', 'c'].map(read));
  expect(outcomes.map(({ status }) => status)).toEqual(Array(3).fill('rejected'));
  expect(statements).toEqual(asked);
});

test('two kinds of statements with one limit take turns and are never in flight together', async () => {
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

test('statements keep their distance, unless a full batch waits, and the first one waits for nothing', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { statements, read } = reader({ everyMs: () => 50 });
  await read('a');
  const later = [read('b'), read('c')];
  await vi.advanceTimersByTimeAsync(49);
  await new Promise(setImmediate);
  expect(statements).toEqual([['a']]);
  await vi.advanceTimersByTimeAsync(2);
  await Promise.all(later);
  expect(statements).toEqual([['a'], ['b', 'c']]);
  await Promise.all(['d', 'e', 'f'].map(read));
  expect(statements).toEqual([['a'], ['b', 'c'], ['d', 'e', 'f']]);
});

test('an item that may wait for less starts the statement of those who wait, and keeps no later one from waiting', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { statements, read } = reader({ everyMs: (key) => (key === 'awaited' ? 50 : 100) });
  await read('a');
  const later = [read('b'), read('awaited')];
  await vi.advanceTimersByTimeAsync(49);
  await new Promise(setImmediate);
  expect(statements).toEqual([['a']]);
  await vi.advanceTimersByTimeAsync(2);
  await Promise.all(later);
  expect(statements).toEqual([['a'], ['b', 'awaited']]);
  const last = read('c');
  await vi.advanceTimersByTimeAsync(98);
  await new Promise(setImmediate);
  expect(statements).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(2);
  await last;
  expect(statements).toEqual([['a'], ['b', 'awaited'], ['c']]);
});
