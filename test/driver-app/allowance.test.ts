import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../src/domain/errors.ts';
import { Allowances } from '../../src/driver-app/allowance.ts';
import {
  MAX_PHOTO_REFUSALS_KEPT,
  PHOTO_REFUSED_KEPT_MS,
  PHOTO_REFUSED_WAIT_MAX_MS,
  PHOTO_REFUSED_WAIT_MS,
  PhotoTurns,
} from '../../src/driver-app/photo-turns.ts';

let nowMs = 0;
const now = () => nowMs;
const taken = (allowances: Allowances, driverId: string, times: number) =>
  Array.from({ length: times }, () => allowances.take(driverId)).filter(Boolean).length;

describe('allowances', () => {
  it('are each driver’s own, and fill up again', () => {
    const allowances = new Allowances(20, 5, now);
    expect(taken(allowances, 'a', 100)).toBe(20);
    expect(taken(allowances, 'b', 100)).toBe(20);
    nowMs += 1_000;
    expect(taken(allowances, 'a', 100)).toBe(5);
    nowMs += 60_000;
    expect(taken(allowances, 'a', 100)).toBe(20);
  });

  it('give a driver who asks without end no more than the rate', () => {
    const allowances = new Allowances(20, 5, now);
    let all = 0;
    for (let tick = 0; tick < 6_000; tick += 1, nowMs += 10) all += taken(allowances, 'a', 3);
    expect(all).toBeLessThanOrEqual(20 + 60 * 5);
  });

  it('are forgotten once they are full again', () => {
    const allowances = new Allowances(20, 5, now);
    for (let index = 0; index < 10_000; index += 1) allowances.take(`driver ${index}`);
    for (let tick = 0; tick < 3; tick += 1, nowMs += 4_000) allowances.take('a');
    expect(allowances.size).toBe(1);
  });

  it('refuse a request with the time after which it may be sent again', () => {
    const allowances = new Allowances(1, 5, now);
    const entry = { principal: { driverId: 'a' } };
    expect(allowances.admit(entry)).toBeNull();
    expect(refusal(() => allowances.admit(entry))).toEqual(['rate_limited', 1]);
  });
});

describe('turns for photos', () => {
  it('are one at a time for each driver', () => {
    const turns = new PhotoTurns(now);
    turns.begin('a');
    turns.begin('b');
    expect(refusal(() => turns.begin('a'))).toEqual(['rate_limited', 1]);
    turns.end('a');
    turns.begin('a');
  });

  it('wait longer after each photo that could not be used, up to a bound, until one is good', () => {
    const turns = new PhotoTurns(now);
    turns.checkWait('a');
    const waits = Array.from({ length: 9 }, () => {
      turns.refuse('a');
      const [code, seconds = 0] = refusal(() => turns.checkWait('a')) ?? [];
      expect(code).toBe('rate_limited');
      nowMs += Number(seconds) * 1_000;
      turns.checkWait('a');
      return seconds;
    });
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    expect([PHOTO_REFUSED_WAIT_MS, PHOTO_REFUSED_WAIT_MAX_MS]).toEqual([1_000, 60_000]);
    turns.refuse('a');
    turns.checkWait('b');
    turns.forgive('a');
    turns.checkWait('a');
  });

  it('forget a refused photo after a while, and the oldest of too many', () => {
    const turns = new PhotoTurns(now);
    for (let refused = 0; refused < 5; refused += 1) turns.refuse('a');
    nowMs += PHOTO_REFUSED_KEPT_MS;
    turns.refuse('a');
    expect(refusal(() => turns.checkWait('a'))).toEqual(['rate_limited', 1]);
    for (let index = 0; index < MAX_PHOTO_REFUSALS_KEPT; index += 1) turns.refuse(`driver ${index}`);
    turns.checkWait('a');
    expect(refusal(() => turns.checkWait('driver 1'))).toEqual(['rate_limited', 1]);
  });
});

/** The code and the seconds to wait of what is refused; null where it is not. */
function refusal(act: () => unknown): [string, number | undefined] | null {
  try {
    act();
    return null;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return [error.code, error.retryAfterSeconds];
  }
}
