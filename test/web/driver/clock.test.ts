import { afterEach, expect, test, vi } from 'vitest';
import { clockAheadMs, learnClock, nowMs } from '../../../src/web/driver/clock.ts';

const PHONE = Date.parse('2026-03-02T15:00:00.000Z');
const header = (aheadMs: number) => new Date(PHONE + aheadMs).toUTCString();

afterEach(() => {
  learnClock(header(0), PHONE, PHONE);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test('a phone’s clock that is wrong by minutes or hours is corrected by the service’s', () => {
  vi.useFakeTimers({ now: PHONE });
  for (const aheadMs of [5 * 3_600_000, -90_000]) {
    learnClock(header(aheadMs), PHONE, PHONE + 1_000);
    expect(Math.abs(nowMs() - (PHONE + aheadMs))).toBeLessThanOrEqual(1_000);
  }
});

test('a clock that is right stays as it is, however long the reply took', () => {
  learnClock(header(0), PHONE, PHONE + 200);
  expect(clockAheadMs()).toBe(0);
  learnClock(header(58_000), PHONE, PHONE + 60_000);
  expect(clockAheadMs()).toBe(0);
  learnClock(header(3_600_000), PHONE, PHONE);
  learnClock(null, PHONE, PHONE);
  learnClock('noon', PHONE, PHONE);
  expect(clockAheadMs()).toBe(3_600_500);
  learnClock(header(0), PHONE, PHONE);
  expect(clockAheadMs()).toBe(0);
});

test('what one page learned holds for the next one from its start', async () => {
  const kept = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  });
  learnClock(header(-3_600_000), PHONE, PHONE);
  const next = '../../../src/web/driver/clock.ts?next';
  const page = (await import(/* @vite-ignore */ next)) as typeof import('../../../src/web/driver/clock.ts');
  expect(page.clockAheadMs()).toBe(-3_599_500);
  learnClock(header(0), PHONE, PHONE);
  expect(kept.size).toBe(0);
});
