import { expect, test } from 'vitest';
import { areNeighbours, findZip, foldAddress, STATE_CODES, withoutUnit } from '../../src/domain/address.ts';

test.each([
  ['350 5th Ave, New York, NY 10118', '10118'],
  ['350 5th Ave, New York, NY 10118-0110', '10118'],
  ['12345 Main St, Springfield, IL 62701', '62701'],
  ['12345 Main St, Springfield, IL, 62701, USA', '62701'],
  ['12345 Main St, Springfield IL-62701', '62701'],
  ['1 Main St, New York NY 10001, Apt 12345', '10001'],
  ['1 Main St, 62701 Springfield', '62701'],
  ['  10118 ', '10118'],
  ['1 Main St, Boston, ma 02108', '02108'],
])('the ZIP of %j is %s', (text, zip) => {
  expect(findZip(text)).toBe(zip);
});

test.each(['', '12345 Main St, Springfield', '1 Main St', 'Call 555-12345-67', 'Box 123456', 'Box 12345-67'])(
  '%j has no ZIP',
  (text) => {
    expect(findZip(text)).toBeUndefined();
  },
);

test.each([
  ['350 5th Ave #4, New York, NY 10118', '350 5th Ave, New York, NY 10118'],
  ['350 5th Ave, # 4B, New York, NY 10118', '350 5th Ave, New York, NY 10118'],
  ['12 Calle 3 Apt 2, San Juan, PR 00901', '12 Calle 3, San Juan, PR 00901'],
  ['350 5th Ave, APT 12345, New York, NY', '350 5th Ave, New York, NY'],
  ['350 5th Ave Unit B-2', '350 5th Ave'],
  ['350 5th Ave, Suite #200, New York', '350 5th Ave, New York'],
  ['350 5th Ave Apt. C, New York', '350 5th Ave, New York'],
  ['350 5th Ave, Fl 2, New York', '350 5th Ave, New York'],
  ['350 5th Ave 2nd floor', '350 5th Ave'],
])('%j without its flat is %j', (text, house) => {
  expect(withoutUnit(text)).toBe(house);
});

test.each([
  '12 Ocean Dr, Miami, FL 33101',
  '12 Ocean Dr, Miami FL 33101-0004',
  '5 Unit St, Boston, MA 02108',
  '5 Suite Rd',
  '900 Highway #7, Ozark, AR 72949',
  'Room & Board, 236 W 18th St, New York',
  '#12 Main St',
  '123 # Main St',
  '350 5th Ave # 4B New York NY 10118',
  '5th Ave #350, New York, NY 10118',
  'Calle 3 #45, San Juan, PR 00901',
  '3 Calle #45, San Juan, PR 00901',
  'Urb. Las Flores, #12 Calle A, San Juan, PR 00901',
])('%j has no flat', (text) => {
  expect(withoutUnit(text)).toBe(text);
});

test('addresses that differ in case and spaces fold to the same text', () => {
  expect(foldAddress('  1 Main\tSt,\n NEW  York\u00a0')).toBe(foldAddress('1 main st, new york'));
  expect(foldAddress('Cafe\u0301 1')).toBe(foldAddress('CAF\u00c9 1'));
  expect(foldAddress('1 Main St')).not.toBe(foldAddress('11 Main St'));
});

test('knows the 50 states, DC, six territories, three associated states and three military codes, each once', () => {
  expect(new Set(STATE_CODES).size).toBe(50 + 1 + 6 + 3 + 3);
  expect(STATE_CODES.every((code) => /^[A-Z]{2}$/.test(code))).toBe(true);
});

test.each([
  ['350 5th Ave, New York, NY 10118', '350 5th Ave', '10118', true],
  ['350 5TH AVE., New York, NY 10118', '350 5th ave', '10118-0110', true],
  ['Corner Market, 350 5th Ave #2, New York, NY 10118', '450 5th Ave', '10118', true],
  ['350 5th Ave, New York, NY 10118', '451 5th Ave', '10118', false],
  ['350 5th Ave, New York, NY 10118', '350 5th Ave', '10119', false],
  ['350 5th Ave, New York', '350 5th Ave', '10118', false],
  ['350 5th Ave, New York, NY 10118', '350 15th Ave', '10118', false],
  ['350 5th Avenue, New York, NY 10118', '351 5th Ave', '10118', false],
  ['1350 5th Ave, New York, NY 10118', '350 5th Ave', '10118', false],
  ['350 5th Ave, New York, NY 10118', '5th Ave', '10118', true],
  ['350 5th Ave, New York, NY 10118', 'Broadway', '10118', false],
  ['Rear entrance, New York, NY 10118', '12 Main St', '10118', false],
])('a pickup at %j and a door at %j in %s: neighbours %s', (pickup, line1, zip, isNear) => {
  expect(areNeighbours(pickup, { line1, zip })).toBe(isNear);
});
