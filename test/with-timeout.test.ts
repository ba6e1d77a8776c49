import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { withTimeout } from '../src/with-timeout.ts';

const late = () => Object.assign(new Error('too late'), { code: 'LATE' });
const never = new Promise<never>(() => undefined);

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

test('gives what the work gives, and keeps no timer', async () => {
  expect(await withTimeout(Promise.resolve(7), 100, late)).toBe(7);
  expect(vi.getTimerCount()).toBe(0);
});

test('rejects with the error of the work, and keeps no timer', async () => {
  await expect(withTimeout(Promise.reject(new Error('broken')), 100, late)).rejects.toThrow('broken');
  expect(vi.getTimerCount()).toBe(0);
});

test('rejects with an error of the caller’s when the time has passed, and not before', async () => {
  const ended = vi.fn();
  const waiting = withTimeout(never, 100, late);
  waiting.catch(ended);
  await vi.advanceTimersByTimeAsync(99);
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await expect(waiting).rejects.toMatchObject({ message: 'too late', code: 'LATE' });
});

test('makes no error where the work is in time', async () => {
  const make = vi.fn(late);
  await withTimeout(Promise.resolve(), 100, make);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(make).not.toHaveBeenCalled();
});

test('ignores a failure of the work that comes too late', async () => {
  const work = new Promise<void>((_, reject) => setTimeout(reject, 200, new Error('broken')));
  const waiting = expect(withTimeout(work, 100, late)).rejects.toThrow('too late');
  await vi.advanceTimersByTimeAsync(300);
  await waiting;
});

test('takes an answer that arrived while the process was blocked past the deadline', async () => {
  vi.useRealTimers();
  let answer: (value: string) => void = () => undefined;
  const work = new Promise<string>((resolve) => {
    answer = resolve;
  });
  const waiting = withTimeout(work, 5, late);
  // Due after the deadline's timer in the same turn, as a socket's answer is read after the timers.
  setTimeout(() => answer('in time after all'), 6);
  const blockedUntilMs = performance.now() + 20;
  while (performance.now() < blockedUntilMs);
  expect(await waiting).toBe('in time after all');
});
