import {
  type CountryCode,
  getCountryCallingCode,
  isSupportedCountry,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/min';

/** Blocks of 10,000 phones whose country is remembered, 100 bytes each. A big city has about a thousand. */
const MAX_PHONE_BLOCKS = 20_000;

/** Whether `code` is a country or territory (ISO 3166-1, two capital letters) with phone numbers. */
export const isCountry = (code: string): code is CountryCode => isSupportedCountry(code);

/**
 * Tells whether a phone (E.164) belongs to one of some countries. A number that is in no country's plan, such
 * as one made up for a test, counts for every country with its calling code. A satellite phone or another
 * network without a country belongs to none.
 *
 * @param allowed ISO 3166-1 codes with two letters; null for all phones
 */
export function phonesOf(allowed: ReadonlySet<string> | null): (phone: string) => boolean {
  if (allowed === null) return () => true;
  const callingCodes = new Set<string>([...allowed].filter(isCountry).map((code) => getCountryCallingCode(code)));
  const isAllowed = (phone: string): boolean => {
    const number = parsePhoneNumberFromString(phone);
    if (!number) return false;
    return number.country ? allowed.has(number.country) : callingCodes.has(number.countryCallingCode);
  };
  const blocks = new Map<string, boolean>();
  return (phone) => {
    if (!NORTH_AMERICAN.test(phone)) return isAllowed(phone);
    const block = phone.slice(0, BLOCK_LENGTH);
    const known = blocks.get(block);
    if (known !== undefined) return known;
    if (blocks.size >= MAX_PHONE_BLOCKS) blocks.clear();
    const answer = isAllowed(phone);
    blocks.set(block, answer);
    return answer;
  };
}

/** The calling code that many countries share. Its plan gives out blocks of 10,000 numbers: `+1`, area, exchange. */
const NORTH_AMERICAN = /^\+1[2-9]\d{9}$/;
const BLOCK_LENGTH = '+1AAAEEE'.length;
