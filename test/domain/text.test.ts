import { expect, test } from 'vitest';
import { escapeUnseen, staysOnOneLine } from '../../src/domain/text.ts';

test('a control, a line separator or a mark of direction is shown by its number', () => {
  expect(escapeUnseen('a\u001b[2Jb')).toBe('a\\u001b[2Jb');
  expect(escapeUnseen('\u001b]52;c;eA==\u0007')).toBe('\\u001b]52;c;eA==\\u0007');
  expect(escapeUnseen('x\r\ny\tz')).toBe('x\\u000d\\u000ay\\u0009z');
  expect(escapeUnseen('\u007f\u0085\u009b\u2028\u2029\ufeff')).toBe('\\u007f\\u0085\\u009b\\u2028\\u2029\\ufeff');
  expect(escapeUnseen('\u202e\u2066\u2069\u200e\u200f\u061c')).toBe('\\u202e\\u2066\\u2069\\u200e\\u200f\\u061c');
  expect(escapeUnseen('\ud800')).toBe('\\ud800');
});

test.each(['Zoë O’Brien 😀', '👩🏽‍🚀🏳️‍🌈', 'नमस्ते', 'نور الدين', 'e\u0301', '{"a": "b"}', 'C:\\new'])(
  '%j is shown as it is, and stays on its line',
  (text) => {
    expect(escapeUnseen(text)).toBe(text);
    expect(staysOnOneLine(text)).toBe(true);
  },
);

test('every control but the tab, and every override of direction, leaves the line; a mark of direction stays', () => {
  const codes = Array.from({ length: 0x3000 }, (_, code) => code);
  const refused = codes.filter((code) => !staysOnOneLine(`a${String.fromCharCode(code)}b`));
  const range = (from: number, to: number) => codes.slice(from, to + 1);
  const controls = [...range(0, 0x1f), ...range(0x7f, 0x9f)].filter((code) => code !== 0x09);
  expect(refused).toEqual([...controls, ...range(0x2028, 0x202e), ...range(0x2066, 0x2069)]);
});
