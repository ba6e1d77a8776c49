import { expect, test } from 'vitest';
import { MAX_VENDOR_WORDS_LENGTH, vendorWords } from '../../src/vendors/vendor-words.ts';

test('the words of a vendor stay on one line, can be stored, and end somewhere', () => {
  expect(vendorWords('Your card was declined.')).toBe('Your card was declined.');
  expect(vendorWords('a\u0000b\n\u202ec\ud800')).toBe('a\\u0000b\\u000a\\u202ec\\ud800');
  expect([...(vendorWords('😀'.repeat(1_000)) ?? '')]).toHaveLength(MAX_VENDOR_WORDS_LENGTH);
});

test.each([undefined, null, 7, {}, ''])('%j says nothing', (said) => {
  expect(vendorWords(said)).toBeUndefined();
});
