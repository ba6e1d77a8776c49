import { describe, expect, test } from 'vitest';
import { SIGN_IN_LINK_SECONDS } from '../../src/commands/driver-phone.ts';
import { DRIVER_EN } from '../../src/words/driver-en.ts';
import { DRIVER_ES } from '../../src/words/driver-es.ts';
import { PHONE_EN } from '../../src/words/phone-en.ts';
import { PHONE_ES } from '../../src/words/phone-es.ts';
import { TRACKING_EN } from '../../src/words/tracking-en.ts';
import { TRACKING_ES } from '../../src/words/tracking-es.ts';
import type { Catalogue, Text } from '../../src/words/words.ts';

/** Texts that are the same in both languages. */
const SAME: ReadonlySet<string> = new Set(['item', 'miles']);
const CATALOGUES: readonly (readonly [page: string, english: Catalogue, spanish: Catalogue])[] = [
  ['driver’s page', DRIVER_EN, DRIVER_ES],
  ['phone beside the page', PHONE_EN, PHONE_ES],
  ['customer’s page', TRACKING_EN, TRACKING_ES],
];

const formsOf = (text: Text | undefined): string[] =>
  typeof text === 'object' ? [text.one, text.other] : [text ?? ''];
const valuesIn = (form: string): string[] => (form.match(/\{\w+\}/g) ?? []).sort();

describe.each(CATALOGUES)('the texts of the %s', (_page, english, spanish) => {
  test('have the same keys, values and forms in both languages, and other words', () => {
    expect(Object.keys(spanish)).toHaveLength(Object.keys(english).length);
    for (const key of Object.keys(english)) {
      const [own, other] = [formsOf(english[key]), formsOf(spanish[key])];
      expect(other.map(valuesIn), key).toEqual(own.map(valuesIn));
      for (const form of [...own, ...other]) expect(form.trim(), key).not.toBe('');
      if (!SAME.has(key)) expect(other, key).not.toEqual(own);
    }
  });
});

test('both languages say how long a sign-in link holds', () => {
  const minutes = String(SIGN_IN_LINK_SECONDS / 60);
  for (const { linkDead } of [PHONE_EN, PHONE_ES]) expect(linkDead).toContain(`${minutes} min`);
});
