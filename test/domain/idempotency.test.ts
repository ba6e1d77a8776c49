import { expect, test } from 'vitest';
import { fingerprintOf, isIdempotencyKey } from '../../src/domain/idempotency.ts';
import type { PlaceOrder } from '../../src/domain/order.ts';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../../src/limits.ts';

test.each([
  ['an order number', '2026-11/0042 a', true],
  ['the longest', 'k'.repeat(MAX_IDEMPOTENCY_KEY_LENGTH), true],
  ['one longer', 'k'.repeat(MAX_IDEMPOTENCY_KEY_LENGTH + 1), false],
  ['nothing', '', false],
  ['a tab', 'a\tb', false],
  ['an umlaut', 'schlüssel', false],
  ['a delete', 'a\x7f', false],
])('a key: %s', (_what, text, isKey) => {
  expect(isIdempotencyKey(text)).toBe(isKey);
});

const ORDER: PlaceOrder = {
  retailerId: 'r',
  customer: { name: 'Jordan Lee', email: 'jordan@example.com', phone: '+14155550123', smsOptIn: true },
  pickupAddress: 'One Test Square',
  dropoffAddress: { line1: '401 Valencia St', line2: null, city: 'San Francisco', state: 'CA', zip: '94103' },
  tierId: 'standard',
};

test('a fingerprint differs by every field, and by nothing else', () => {
  const { customer, dropoffAddress } = ORDER;
  const others: PlaceOrder[] = [
    { ...ORDER, retailerId: 's' },
    { ...ORDER, pickupAddress: 'Two Test Square' },
    { ...ORDER, tierId: 'priority' },
    ...(['name', 'email', 'phone'] as const).map((field) => ({ ...ORDER, customer: { ...customer, [field]: 'x' } })),
    { ...ORDER, customer: { ...customer, smsOptIn: false } },
    ...(['line1', 'line2', 'city', 'state', 'zip'] as const).map((field) => ({
      ...ORDER,
      dropoffAddress: { ...dropoffAddress, [field]: 'x' },
    })),
    // A text that moves from one field into the next makes another order.
    { ...ORDER, dropoffAddress: { ...dropoffAddress, city: 'San', state: 'Francisco CA' } },
  ];
  const all = [ORDER, ...others].map(fingerprintOf);
  expect(new Set(all).size).toBe(all.length);
  expect(fingerprintOf({ ...ORDER, customer: { ...customer } })).toBe(fingerprintOf(ORDER));
});
