import {
  type CountryCode,
  getCountryCallingCode,
  isSupportedCountry,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/min';

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
  return (phone) => {
    const number = parsePhoneNumberFromString(phone);
    if (!number) return false;
    return number.country ? allowed.has(number.country) : callingCodes.has(number.countryCallingCode);
  };
}
