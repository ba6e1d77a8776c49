import { expect, test } from 'vitest';
import { identityOf, isIdempotencyKey, isSameRequest } from '../../src/domain/idempotency.ts';
import type { OrderExtras, PlaceOrder } from '../../src/domain/order.ts';
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
  extras: null,
};

const EXTRAS: OrderExtras = {
  externalId: 'A-1',
  metadata: { cart: '7', aisle: '3' },
  items: [{ name: 'Lamp', quantity: 2 }],
  pickupInstructions: 'Back door',
  dropoffInstructions: 'Ring twice',
  leaveAtDoor: true,
};
const FULL: PlaceOrder = { ...ORDER, extras: EXTRAS };
/** What the build before the optional fields stored of an order. */
const firstVersion = (order: PlaceOrder) => identityOf({ ...order, extras: null }, null).fingerprint;
const secondVersion = (order: PlaceOrder) => identityOf(order, 'key').fingerprint;

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
    FULL,
    ...otherExtras().map((extras) => ({ ...ORDER, extras })),
  ];
  const all = [ORDER, ...others].map(secondVersion);
  expect(new Set(all).size).toBe(all.length);
  expect(secondVersion({ ...ORDER, customer: { ...customer } })).toBe(secondVersion(ORDER));
  const turned = { ...EXTRAS, metadata: { aisle: '3', cart: '7' } };
  expect(secondVersion({ ...ORDER, extras: turned })).toBe(secondVersion(FULL));
});

/** The optional fields, each with another value. */
function otherExtras(): OrderExtras[] {
  return [
    { ...EXTRAS, externalId: 'A-2' },
    { ...EXTRAS, externalId: null },
    { ...EXTRAS, metadata: { cart: '8', aisle: '3' } },
    { ...EXTRAS, metadata: {} },
    { ...EXTRAS, items: [{ name: 'Lamp', quantity: 3 }] },
    { ...EXTRAS, items: [] },
    { ...EXTRAS, pickupInstructions: null },
    { ...EXTRAS, dropoffInstructions: 'Ring once' },
    // A text that moves into the next field makes another order.
    { ...EXTRAS, pickupInstructions: 'Ring twice', dropoffInstructions: 'Back door' },
    { ...EXTRAS, leaveAtDoor: false },
  ];
}

test('every version of a fingerprint stays what it was', () => {
  const first = '099acb63781cc69a854dc78386161b6bb464184db9525e48db9bca35e88fc540';
  const second = 'ce658cc5f06d814048399195a45a1af914684dd92dbe1d79a0aa7fd062de2a0e';
  expect(firstVersion(ORDER)).toBe(first);
  expect([ORDER, FULL].map(secondVersion)).toEqual([`${first} 2:`, `${first} 2:${second}`]);
});

test('a build before compares the first part of what this one stores', () => {
  for (const order of [ORDER, FULL]) expect(secondVersion(order).split(' ')[0]).toBe(firstVersion(order));
});

test('a retry is compared with an order of a build before by the fields that the build knew', () => {
  expect(isSameRequest(firstVersion(FULL), FULL)).toBe(true);
  expect(isSameRequest(firstVersion(ORDER), ORDER)).toBe(true);
  expect(isSameRequest(firstVersion(FULL), { ...FULL, tierId: 'priority' })).toBe(false);
});

test('a retry is compared with an order of this build by all fields', () => {
  for (const order of [ORDER, FULL]) expect(isSameRequest(secondVersion(order), order)).toBe(true);
  for (const extras of [null, ...otherExtras()]) {
    expect(isSameRequest(secondVersion(FULL), { ...ORDER, extras })).toBe(false);
  }
  expect(isSameRequest(secondVersion(ORDER), FULL)).toBe(false);
});

test('an order of a build to come is compared by the fields of the contract', () => {
  const stored = `${firstVersion(FULL)} 3:${'0'.repeat(64)}`;
  expect(isSameRequest(stored, FULL)).toBe(true);
  expect(isSameRequest(stored, { ...FULL, pickupAddress: 'x' })).toBe(false);
  expect(isSameRequest(`${firstVersion(FULL)} constructor:`, FULL)).toBe(true);
});

test('without a key an order of the contract has the fingerprint of a build before, and any other its own', () => {
  expect(identityOf(ORDER, null)).toEqual({ key: null, fingerprint: firstVersion(ORDER) });
  expect(identityOf(FULL, null).fingerprint).toBe(secondVersion(FULL));
});
