import fc from 'fast-check';
import { parsePhoneNumberFromString } from 'libphonenumber-js/min';
import { expect, test } from 'vitest';
import { isCountry, phonesOf } from '../../src/vendors/sms-countries.ts';

const AMERICAN = new Set(['US', 'CA', 'PR', 'VI', 'GU', 'AS', 'MP']);

test.each([
  ['+14155550123', 'San Francisco', true],
  ['+14165550123', 'Toronto', true],
  ['+17875550123', 'Puerto Rico', true],
  ['+15005550006', 'a magic number of Twilio', true],
  ['+15555555555', 'a number of no plan with the calling code of the United States', true],
  ['+18765551234', 'Jamaica, which shares that calling code', false],
  ['+447700900123', 'a number for films in Britain', false],
  ['+8816512345678', 'a satellite phone', false],
  ['+870773111632', 'a ship', false],
  ['+882161234567', 'an international network', false],
  ['+9991234567', 'no calling code', false],
])('%s (%s) is in the United States, their territories or Canada: %s', (phone, _, expected) => {
  expect(phonesOf(AMERICAN)(phone)).toBe(expected);
});

test('the last four digits of a North American number never decide', () => {
  const isAmerican = phonesOf(AMERICAN);
  const digits = (count: number) => fc.stringMatching(new RegExp(`^\\d{${count}}$`));
  // Area codes of every kind: of a state, an island, nobody, and the special ones that only some exchanges have.
  const areas = fc.oneof(
    fc.stringMatching(/^[2-9]\d\d$/),
    fc.constantFrom('500', '521', '523', '524', '600', '710', '800', '829', '900'),
  );
  fc.assert(
    fc.property(areas, digits(3), digits(4), digits(4), (area, exchange, line, other) => {
      for (const phone of [`+1${area}${exchange}${line}`, `+1${area}${exchange}${other}`]) {
        const country = parsePhoneNumberFromString(phone)?.country;
        expect(isAmerican(phone)).toBe(country === undefined || AMERICAN.has(country));
      }
    }),
    { numRuns: 3_000 },
  );
});

test('without a list every phone may be texted', () => {
  expect(phonesOf(null)('+8816512345678')).toBe(true);
});

test('a country is known by its code', () => {
  expect(['US', 'PR', 'GB'].every(isCountry)).toBe(true);
  expect(['us', 'USA', 'XX', ''].some(isCountry)).toBe(false);
});
