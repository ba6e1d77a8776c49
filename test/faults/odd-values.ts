/** Values, texts and bytes at the limits of an order's body, or beyond them. */

/** JSON text that `JSON.stringify` never writes, put in place of its name between these marks. */
export const RAW = /"<raw (.*?)>"/g;
export const raw = (text: string): string => `<raw ${text}>`;

const NUMBERS = ['0', '-0', '1e400', '-1e400', '9007199254740993', '123456789012345678901234567890', '1.5', '1E-400'];
export const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  '',
  ' ',
  [],
  {},
  ['standard'],
  { length: 1 },
  'null',
  'undefined',
  '[object Object]',
  ...NUMBERS.map(raw),
];
export const CHARACTERS = [
  'a',
  'é',
  'e\u0301',
  '漢',
  '🛵',
  '👩‍👩‍👧',
  'ש',
  '\u202e',
  '\u2066',
  '\u200f',
  '\u001b',
  '\t',
  'ß',
  '\u200b',
  '\ufffd',
  '\u0085',
  "'",
  '"',
  '\\',
  '\n',
  '%',
];
export const UNSTORABLE = ['\0', '\ud800', '\udfff', '\ude00\ud83d'];
export const SPACES = [' ', '\t', '\n', '\u00a0', '\u2003', '\u3000', '\ufeff', '\u2028'];
export const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '',
  'customer.name',
  'Retailer_id',
  'é',
  '\0',
];
export const PHONES = [
  '+14155550123',
  '14155550123',
  '+1415555',
  '+123456',
  '+1234567',
  '+0123456789',
  '+12345678901234567',
  '+1 4155550123',
  '+١٤١٥٥٥٥٠١٢٣',
  '+441632960961',
];
export const STATES = ['CA', 'ca', ' nY ', 'XX', 'zz', 'C', 'CAL', 'ß', 'ſs', 'D.C', 'PR', 'AE', 'ｃａ'];
export const ZIPS = ['94103', '94103-1234', '9410', '941031', '94103-', '94103-12', '9４103', '94103 1234', ' 94103 '];
export const EMAILS = [
  'a@b',
  'a@b.co',
  '@b.co',
  'a b@c.de',
  'a@b@c.de',
  'jörg@müller.de',
  'a@b..co',
  'a@-b.co',
  '"a b"@c.de',
  'a@b.c',
  'a@[1.2.3.4]',
  'a\u0000@b.co',
];
export const TIERS = ['standard', 'priority', 'scheduled', 'Standard', 'standard ', 'express', ''];

export const INVALID = ['ff', 'c080', 'eda080', 'f8888080', 'e28288f4908080', '80', 'c3'].map((hex) =>
  Buffer.from(hex, 'hex'),
);
export const DOUBLES = [
  '"delivery_tier":"express"',
  '"delivery_tier":"priority"',
  '"pickup_address":null',
  '"retailer_id":"x"',
  '"customer":{}',
];
export const TAILS = ['}', ' ', '\n\n', 'x', '{}', ',', '\0', '//', '\ufeff'];
