import { describe, expect, it, test } from 'vitest';
import { accepted, ORDER, problems } from './order-input.ts';

const extrasOf = (changes: Record<string, unknown>) => accepted({ ...ORDER, ...changes } as never).extras;
const ISO = 'must be a time in ISO 8601 form with its zone, like 2025-01-31T17:05:00Z or 2025-01-31T12:05:00-05:00';
const NO_TIME = 'must be a time of the calendar, from 1970 to 9999';

describe('the times and the size of an order', () => {
  it('are instants, whatever their zone', () => {
    const extras = extrasOf({ ready_at: '2030-01-31T17:00:00Z', deliver_after: ' 2030-01-31T12:30:00.25-05:00 ' });
    expect(extras?.readyAt).toEqual(new Date('2030-01-31T17:00:00Z'));
    expect(extras?.deliverAfter).toEqual(new Date('2030-01-31T17:30:00.250Z'));
    for (const written of ['2030-01-31T12:00-05:00', '2030-01-31T17:00:00+0000']) {
      expect(extrasOf({ ready_at: written })?.readyAt).toEqual(extras?.readyAt);
    }
    expect(extras).toMatchObject({ deliverBy: null, size: 'small' });
    expect(extrasOf({ size: 'large' })).toMatchObject({ size: 'large', readyAt: null });
  });

  it.each([[{}], [{ ready_at: null, deliver_by: '', size: null }], [{ size: 'small' }], [{ deliver_after: ' ' }]])(
    'say nothing: %j',
    (changes) => {
      expect(extrasOf(changes)).toBeNull();
    },
  );

  test.each([
    ['ready_at', '2030-01-31', ISO],
    ['ready_at', '2030-01-31T17:00:00', ISO],
    ['ready_at', '2030-01-31 17:00:00Z', ISO],
    ['ready_at', 'tomorrow', ISO],
    ['ready_at', 1_900_000_000, 'must be a string'],
    ['deliver_after', '2030-02-30T17:00:00Z', NO_TIME],
    ['deliver_after', '2030-13-01T17:00:00Z', NO_TIME],
    ['deliver_by', '2030-01-31T25:00:00Z', NO_TIME],
    ['deliver_by', '2030-01-31T17:00:61Z', NO_TIME],
    ['deliver_by', '2030-01-31T17:00:00+99:99', NO_TIME],
    ['deliver_by', '0000-01-31T17:00:00Z', NO_TIME],
    ['size', 'huge', 'must be one of small, medium, large'],
    ['size', '', 'must be one of small, medium, large'],
    ['size', ' small', 'must be one of small, medium, large'],
    ['size', 1, 'must be a string'],
  ])('%s %j is refused by its name', (field, value, message) => {
    expect(problems({ ...ORDER, [field]: value })).toEqual([`${field}: ${message}`]);
  });

  it('are named beside all other wrong fields', () => {
    const bad = problems({ ...ORDER, pickup_address: '', deliver_by: '2030-02-30T17:00:00Z', ready_at: 'x' });
    expect(bad.map((problem) => problem.split(':')[0])).toEqual(['pickup_address', 'ready_at', 'deliver_by']);
  });
});
