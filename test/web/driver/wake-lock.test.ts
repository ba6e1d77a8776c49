import { beforeEach, expect, test } from 'vitest';
import { type Lock, WakeLock } from '../../../src/web/driver/wake-lock.ts';

/** The locks that are held, and the requests for one that the browser has not answered. */
const held = new Set<Lock>();
let requests: (() => void)[] = [];
let isVisible = true;
let screen: WakeLock;

function newLock(): Lock {
  let released = false;
  const lock: Lock = {
    get released() {
      return released;
    },
    async release() {
      released = true;
      held.delete(lock);
    },
  };
  held.add(lock);
  return lock;
}

beforeEach(() => {
  held.clear();
  requests = [];
  isVisible = true;
  screen = new WakeLock(() => {
    if (!isVisible) return Promise.resolve(null);
    return new Promise((resolve) => requests.push(() => resolve(newLock())));
  });
});

function answer(): void {
  for (const resolve of requests.splice(0)) resolve();
}
async function take(): Promise<void> {
  const taken = screen.keep(true);
  answer();
  await taken;
}

test('one lock is held, however often it is wanted before the browser answers', async () => {
  const calls = [screen.keep(true), screen.keep(true), screen.keep(true)];
  expect(requests).toHaveLength(1);
  answer();
  await Promise.all(calls);
  await screen.keep(true);
  expect([requests.length, held.size]).toEqual([0, 1]);
});

test('none is held when it is not wanted any more, also where it came later', async () => {
  const calls = [screen.keep(true), screen.keep(true), screen.keep(false)];
  answer();
  await Promise.all(calls);
  expect(held.size).toBe(0);
  await take();
  expect(held.size).toBe(1);
  await screen.keep(false);
  expect(held.size).toBe(0);
});

test('one that a hidden page lost is taken again when it is visible', async () => {
  await take();
  for (const lock of held) await lock.release();
  isVisible = false;
  await screen.keep(true);
  expect([requests.length, held.size]).toEqual([0, 0]);
  isVisible = true;
  await take();
  expect(held.size).toBe(1);
});
