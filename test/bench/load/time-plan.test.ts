import { describe, expect, test } from 'vitest';
import { TimePlan } from '../../../bench/load/time-plan.ts';

const PARTS = [
  { name: 'start', seconds: 4, measures: false },
  { name: 'one', seconds: 10, measures: true },
  { name: 'again', seconds: 6, measures: false },
  { name: 'two', seconds: 10, measures: true },
];

describe('the time of a run', () => {
  test('is shared among the measurements to come where there is less', () => {
    let nowMs = 0;
    const plan = new TimePlan(PARTS, 30_000, () => nowMs);
    // The start took 8 s: 22 are left, 6 of them for what cannot be shortened.
    nowMs = 8_000;
    expect(plan.take('one')).toBeCloseTo(8, 9);
    nowMs = 16_000;
    expect(plan.take('again')).toBe(6);
    nowMs = 24_000;
    expect(plan.take('two')).toBeCloseTo(6, 9);
  });

  test('never falls below a share of the plan', () => {
    expect(new TimePlan(PARTS, 30_000, () => 60_000).take('two')).toBe(5);
  });
});
