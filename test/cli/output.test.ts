import { describe, expect, test } from 'vitest';
import { render, Worded } from '../../src/cli/output.ts';

const HOSTILE = 'Eve\u001b]52;c;eA==\u0007\nstatus  active\r\u202e\u0085\u2028';
const SHOWN = 'Eve\\u001b]52;c;eA==\\u0007\\u000astatus  active\\u000d\\u202e\\u0085\\u2028';

describe('a name with controls', () => {
  test('forges no line of a record, and gives the terminal no command', () => {
    expect(render({ name: HOSTILE, status: 'suspended' }, false)).toBe(`name    ${SHOWN}\nstatus  suspended`);
  });

  test('forges no row of a table', () => {
    expect(render([{ name: HOSTILE, status: 'suspended' }], false).split('\n')).toEqual([
      expect.stringMatching(/^name +status$/),
      `${SHOWN}  suspended`,
    ]);
  });

  test('is as harmless deep inside of a record, and as the name of a field', () => {
    const text = render({ customer: { name: HOSTILE }, events: [{ data: { note: HOSTILE } }], [HOSTILE]: 1 }, false);
    expect(text).not.toMatch(/[\p{Cc}\u202e\u2028](?<!\n)/u);
    expect(text.split('\n')).toHaveLength(6);
  });

  test('is as harmless in JSON, which still reads as what it is', () => {
    const json = render([{ name: HOSTILE, tags: [HOSTILE] }], true);
    expect(json).not.toMatch(/[\p{Cc}\u202e\u2028](?<!\n)/u);
    expect(JSON.parse(json)).toEqual([{ name: HOSTILE, tags: [HOSTILE] }]);
  });
});

test('names of any script, emoji and backslashes are printed as they are', () => {
  const names = ['Zoë O’Brien 😀', '👩🏽‍🚀', 'नमस्ते', 'نور الدين', 'C:\\new'];
  for (const name of names) expect(render({ name }, false)).toBe(`name  ${name}`);
});

test('a list of words is a line of words, alone, in a record and in a table', () => {
  expect(render({ name: 'Ana', tiers: ['standard', 'priority'] }, false)).toBe('name   Ana\ntiers  standard, priority');
  expect(render([{ tiers: ['standard', 'priority'] }], false)).toBe('tiers\nstandard, priority');
  expect(render(['standard', 'priority'], false)).toBe('standard\npriority');
  expect(render({ tiers: [], keys: null }, false)).toBe('tiers  (none)\nkeys   -');
  expect(render([], false)).toBe('(none)');
});

test('a value with a word is the word to a person and the value to a program', () => {
  const rates = { rate: new Worded(0, 'none'), other: new Worded(null, 'default') };
  expect(render(rates, false)).toBe('rate   none\nother  default');
  expect(JSON.parse(render(rates, true))).toEqual({ rate: 0, other: null });
});
