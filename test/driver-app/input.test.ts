import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { validateLocation } from '../../src/driver-app/input.ts';
import type { JsonObject } from '../../src/http/json.ts';
import { validate } from '../../src/http/validate.ts';
import { validators } from '../../src/http/validators.js';

const HERE = { lat: 37.7749, lng: -122.4194 };

function problems(body: JsonObject): string[] {
  const result = validateLocation(body);
  return 'fields' in result ? result.fields.map(({ field, message }) => `${field}: ${message}`) : [];
}

describe('a driver’s duty', () => {
  it.each([true, false])('is %s', (on_duty) => {
    expect(validate(validators.driverDuty, { on_duty, more: 1 })).toMatchObject({ ok: { on_duty } });
  });

  it.each([undefined, null, 'true', 1, 0, [], {}])('is not %j', (on_duty) => {
    const message = on_duty === undefined ? 'is required' : 'must be true or false';
    expect(validate(validators.driverDuty, { on_duty })).toEqual({ fields: [{ field: 'on_duty', message }] });
  });
});

describe('a driver’s position', () => {
  it('needs nothing but latitude and longitude', () => {
    expect(validateLocation({ ...HERE, more: 'x' })).toEqual({ ok: HERE });
  });

  it('may tell how it was taken', () => {
    const body = { ...HERE, accuracy_m: 5.5, heading: 0, speed: 13.9, captured_at: '2025-01-31T17:05:00.250Z' };
    expect(validateLocation(body)).toEqual({
      ok: {
        ...HERE,
        accuracyMeters: 5.5,
        capturedAtMs: Date.UTC(2025, 0, 31, 17, 5, 0, 250),
      },
    });
  });

  it('may leave open with null what a phone does not know', () => {
    const body = { ...HERE, accuracy_m: null, heading: null, speed: null, captured_at: null };
    expect(validateLocation(body)).toEqual({ ok: HERE });
  });

  it.each([
    ['lat', 90, -90],
    ['lng', 180, -180],
    ['heading', 360, 0],
    ['speed', 300, 0],
    ['accuracy_m', 100_000, 0],
  ])('has %s at most %d and at least %d', (field, most, least) => {
    expect(problems({ ...HERE, [field]: most })).toEqual([]);
    expect(problems({ ...HERE, [field]: least })).toEqual([]);
    expect(problems({ ...HERE, [field]: most + 1e-9 })).toEqual([`${field}: must be at most ${most}`]);
    expect(problems({ ...HERE, [field]: least - 1e-9 })).toEqual([`${field}: must be at least ${least}`]);
    expect(problems({ ...HERE, [field]: Number.POSITIVE_INFINITY })).toHaveLength(1);
    for (const value of ['1', true, [], {}]) {
      expect(problems({ ...HERE, [field]: value })).toEqual([`${field}: must be a number`]);
    }
  });

  it('is refused where latitude or longitude is missing or null', () => {
    expect(problems({})).toEqual(['lat: is required', 'lng: is required']);
    expect(problems({ lat: null, lng: null })).toEqual(['lat: must be a number', 'lng: must be a number']);
  });

  it.each(['2025-01-31T17:05:00Z', '2025-01-31T17:05:00.123456789Z', '2025-01-31T12:05:00-05:00'])(
    'takes the time %s',
    (captured_at) => {
      const result = validateLocation({ ...HERE, captured_at });
      expect('ok' in result && Math.floor((result.ok.capturedAtMs ?? 0) / 1000)).toBe(
        Date.UTC(2025, 0, 31, 17, 5) / 1000,
      );
    },
  );

  it.each([
    '',
    'now',
    '2025-01-31',
    '2025-01-31 17:05:00Z',
    '2025-01-31T17:05:00',
    '2025-13-01T00:00:00Z',
    '0000-01-01T00:00:00Z',
    1,
    true,
  ])('refuses the time %j', (captured_at) => {
    expect(problems({ ...HERE, captured_at })).toHaveLength(1);
  });

  it('is within the globe or refused, whatever was sent, and never an exception', () => {
    const value = fc.anything({ withBigInt: false, maxDepth: 2 });
    const body = fc.record({ lat: value, lng: value, heading: value, captured_at: value }, { requiredKeys: [] });
    const numbers = fc.record({ lat: fc.double(), lng: fc.double() });
    fc.assert(
      fc.property(fc.oneof(body, numbers), (position) => {
        const result = validateLocation(position);
        if ('fields' in result) return;
        expect(Math.abs(result.ok.lat)).toBeLessThanOrEqual(90);
        expect(Math.abs(result.ok.lng)).toBeLessThanOrEqual(180);
      }),
      { numRuns: 1_000 },
    );
  });
});
