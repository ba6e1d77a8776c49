import { expect, test } from 'vitest';
import { identityOf, isIdempotencyKey, isSameRequest } from '../../src/domain/idempotency.ts';
import type { OrderExtras, PlaceOrder } from '../../src/domain/order.ts';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../../src/limits.ts';
import { NO_EXTRAS } from '../harness/orders.ts';

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
  readyAt: null,
  deliverAfter: null,
  deliverBy: null,
  size: 'small',
  scenario: null,
};
const FULL: PlaceOrder = { ...ORDER, extras: EXTRAS };
const TIME = new Date('2030-01-31T17:00:00Z');
const TIMED: PlaceOrder = { ...ORDER, extras: { ...EXTRAS, readyAt: TIME, deliverAfter: TIME, deliverBy: TIME } };
/** What the build before the optional fields stored of an order. */
const firstVersion = (order: PlaceOrder) => identityOf({ ...order, extras: null }, null).fingerprint;
/** What the build before the times stored of an order, which it knew without them. */
const secondVersion = (order: PlaceOrder) =>
  order.extras === null ? `${firstVersion(order)} 2:` : identityOf(order, null).fingerprint;
const thirdVersion = (order: PlaceOrder) => identityOf(order, 'key').fingerprint;

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
  const all = [ORDER, ...others].map(thirdVersion);
  expect(new Set(all).size).toBe(all.length);
  expect(thirdVersion({ ...ORDER, customer: { ...customer } })).toBe(thirdVersion(ORDER));
  const turned = { ...EXTRAS, metadata: { aisle: '3', cart: '7' } };
  expect(thirdVersion({ ...ORDER, extras: turned })).toBe(thirdVersion(FULL));
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
    { ...EXTRAS, readyAt: TIME },
    { ...EXTRAS, deliverAfter: TIME },
    { ...EXTRAS, deliverBy: TIME },
    { ...EXTRAS, deliverBy: new Date(TIME.getTime() + 1) },
    { ...EXTRAS, size: 'large' },
    { ...EXTRAS, scenario: { card: 'declined', text: null, driver: null } },
  ];
}

test('every version of a fingerprint stays what it was', () => {
  const first = '099acb63781cc69a854dc78386161b6bb464184db9525e48db9bca35e88fc540';
  const second = 'ce658cc5f06d814048399195a45a1af914684dd92dbe1d79a0aa7fd062de2a0e';
  const third = 'd05e36c138b4fa97a46d94a783ad61e2c41a225b0d2b836485f5cba5391a5060';
  expect(firstVersion(ORDER)).toBe(first);
  expect(secondVersion(FULL)).toBe(`${first} 2:${second}`);
  expect([ORDER, TIMED].map(thirdVersion)).toEqual([`${first} 3:`, `${first} 3:${third}`]);
});

test('a build before compares the first part of what this one stores', () => {
  for (const order of [ORDER, FULL]) expect(thirdVersion(order).split(' ')[0]).toBe(firstVersion(order));
});

test('a retry is compared with an order of a build before by the fields that the build knew', () => {
  expect(isSameRequest(firstVersion(FULL), FULL)).toBe(true);
  expect(isSameRequest(firstVersion(ORDER), ORDER)).toBe(true);
  expect(isSameRequest(firstVersion(FULL), { ...FULL, tierId: 'priority' })).toBe(false);
});

test('a retry is compared with an order of this build by all fields', () => {
  for (const order of [ORDER, FULL]) expect(isSameRequest(thirdVersion(order), order)).toBe(true);
  for (const extras of [null, ...otherExtras()]) {
    expect(isSameRequest(thirdVersion(FULL), { ...ORDER, extras })).toBe(false);
  }
  expect(isSameRequest(thirdVersion(ORDER), FULL)).toBe(false);
});

test('a retry is compared with an order of the build before the times by what that build knew', () => {
  // It ignored the times, also where the order said nothing else beyond the contract.
  const justTimed = { ...ORDER, extras: { ...NO_EXTRAS, readyAt: TIME, deliverAfter: TIME, deliverBy: TIME } };
  expect(isSameRequest(secondVersion(ORDER), justTimed)).toBe(true);
  expect(isSameRequest(secondVersion(FULL), TIMED)).toBe(true);
  expect(isSameRequest(secondVersion(FULL), FULL)).toBe(true);
  expect(isSameRequest(secondVersion(FULL), justTimed)).toBe(false);
  expect(isSameRequest(secondVersion(ORDER), FULL)).toBe(false);
});

test('a time that is added to a retry, or moved, makes another order', () => {
  expect(isSameRequest(thirdVersion(FULL), TIMED)).toBe(false);
  expect(isSameRequest(thirdVersion(TIMED), FULL)).toBe(false);
  const elsewhere = {
    ...TIMED,
    extras: { ...(TIMED.extras as OrderExtras), readyAt: new Date('2030-01-31T18:00:00+01:00') },
  };
  expect(isSameRequest(thirdVersion(TIMED), elsewhere)).toBe(true);
});

test('an order of a build to come is compared by the fields of the contract', () => {
  const stored = `${firstVersion(FULL)} 4:${'0'.repeat(64)}`;
  expect(isSameRequest(stored, FULL)).toBe(true);
  expect(isSameRequest(stored, { ...FULL, pickupAddress: 'x' })).toBe(false);
  expect(isSameRequest(`${firstVersion(FULL)} constructor:`, FULL)).toBe(true);
});

test('without a key an order has the fingerprint of the oldest build that knew all of it', () => {
  expect(identityOf(ORDER, null)).toEqual({ key: null, fingerprint: firstVersion(ORDER) });
  expect(identityOf(FULL, null).fingerprint).toMatch(/ 2:[0-9a-f]{64}$/);
  expect(identityOf(TIMED, null).fingerprint).toBe(thirdVersion(TIMED));
});
