import { afterEach, expect, test, vi } from 'vitest';
import { clockAheadMs, learnClock, nowMs, startClock } from '../../../src/web/driver/clock.ts';

const PHONE = Date.parse('2026-03-02T15:00:00.000Z');
const header = (aheadMs: number) => new Date(PHONE + aheadMs).toUTCString();

afterEach(() => {
  startClock({ clockAheadMs: () => 0, keepClockAheadMs: () => {} });
  vi.useRealTimers();
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

test('what one page learned holds for the next one from its start', () => {
  let keptMs = 7_200_000;
  startClock({ clockAheadMs: () => keptMs, keepClockAheadMs: (aheadMs) => (keptMs = aheadMs) });
  expect(clockAheadMs()).toBe(7_200_000);
  learnClock(header(-3_600_000), PHONE, PHONE);
  expect(keptMs).toBe(-3_599_500);
  learnClock(header(0), PHONE, PHONE);
  expect(keptMs).toBe(0);
});
