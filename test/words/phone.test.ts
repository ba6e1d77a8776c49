import { expect, test } from 'vitest';
import { SIGN_IN_LINK_SECONDS } from '../../src/commands/driver-phone.ts';
import { PHONE_EN } from '../../src/words/phone-en.ts';
import { PHONE_ES } from '../../src/words/phone-es.ts';

test('what a phone says beside the page is there in both languages, and not the same', () => {
  expect(Object.keys(PHONE_ES)).toEqual(Object.keys(PHONE_EN));
  for (const [key, text] of Object.entries(PHONE_EN)) expect(PHONE_ES[key as keyof typeof PHONE_EN]).not.toBe(text);
});

test('both say how long a link holds', () => {
  const minutes = String(SIGN_IN_LINK_SECONDS / 60);
  for (const { linkDead } of [PHONE_EN, PHONE_ES]) expect(linkDead).toContain(`${minutes} min`);
});
