import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CLOSE_DEADLINE_MS, CLOSE_FLOOR_MS, Closers, MAX_PARTS } from '../../src/runtime/closers.ts';
import { STOP_DEADLINE_MS } from '../../src/runtime/signals.ts';

const lines: { part?: unknown; level: string }[] = [];
const log = (level: string) => (fields: object) => void lines.push({ level, ...fields });
const logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };

let closers: Closers;
let closed: string[];
beforeEach(() => {
  closers = new Closers(logger);
  closed = [];
  lines.length = 0;
});
afterEach(() => void vi.useRealTimers());

/** A part that takes a turn of the event loop to close. */
function add(name: string): void {
  closers.add(name, async () => {
    await Promise.resolve();
    closed.push(name);
  });
}

test('parts are closed one after another, the last one first', async () => {
  for (const name of ['database', 'relay', 'server']) add(name);
  await closers.closeAll();
  expect(closed).toEqual(['server', 'relay', 'database']);
  expect(lines).toEqual([]);
});

test('closing twice, also at the same time, closes each part once', async () => {
  for (const name of ['a', 'b', 'c']) add(name);
  await Promise.all([closers.closeAll(), closers.closeAll()]);
  await closers.closeAll();
  expect(closed.sort()).toEqual(['a', 'b', 'c']);
});

test.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('broken');
    },
  ],
  ['rejects', () => Promise.reject(new Error('broken'))],
])('a part that %s while closing is logged and does not keep the others open', async (_how, close) => {
  add('database');
  closers.add('broken part', close);
  add('server');
  await closers.closeAll();
  expect(closed).toEqual(['server', 'database']);
  expect(lines).toMatchObject([{ level: 'warn', part: 'broken part' }]);
});

test('a part that never closes is given up after its deadline', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  add('database');
  closers.add('stuck', () => new Promise(() => undefined));
  const all = closers.closeAll();
  await vi.advanceTimersByTimeAsync(CLOSE_DEADLINE_MS - 1);
  expect(closed).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  await all;
  expect(closed).toEqual(['database']);
  expect(lines).toMatchObject([{ part: 'stuck', err: { code: 'CLOSE_LATE' } }]);
});

test('a part with a longer deadline of its own is waited for', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  add('database');
  closers.add(
    'requests',
    () => new Promise<void>((resolve) => setTimeout(resolve, CLOSE_DEADLINE_MS + 1)),
    CLOSE_DEADLINE_MS * 2,
  );
  const all = closers.closeAll();
  await vi.advanceTimersByTimeAsync(CLOSE_DEADLINE_MS);
  expect(closed).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  await all;
  expect(closed).toEqual(['database']);
  expect(lines).toEqual([]);
});

test('closing leaves no timer that would keep the process alive', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  for (const name of ['a', 'b']) add(name);
  await closers.closeAll();
  expect(vi.getTimerCount()).toBe(0);
});

test('parts that are all slow close within one deadline, and each is asked in time to do something', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] });
  const askedMs: number[] = [];
  for (let part = 0; part < MAX_PARTS; part++) {
    closers.add(`part ${part}`, () => {
      askedMs.push(performance.now());
      return new Promise(() => undefined);
    });
  }
  const sinceMs = performance.now();
  const all = closers.closeAll();
  await vi.runAllTimersAsync();
  await all;
  expect(performance.now() - sinceMs).toBeLessThan(STOP_DEADLINE_MS);
  const waits = askedMs.map((atMs, part) => (askedMs[part + 1] ?? performance.now()) - atMs);
  expect(waits[0]).toBeGreaterThanOrEqual(CLOSE_DEADLINE_MS);
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(CLOSE_FLOOR_MS);
});
