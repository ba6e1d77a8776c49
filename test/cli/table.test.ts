import { expect, test } from 'vitest';
import { render } from '../../src/cli/output.ts';

const ID = '01a2037f-5327-7fa7-8921-750dd4adb40f';
const ROW = { order_id: ID, status: 'pending_dispatch', store: 'The Corner Market of Reno', created_at: new Date(0) };
const at = (width?: number) => render([ROW], false, width).split('\n');

test('a table that fits, or goes to a file, is printed whole', () => {
  const whole = [
    expect.stringMatching(/^order_id +status +store +created_at$/),
    `${ID}  pending_dispatch  The Corner Market of Reno  1970-01-01T00:00:00.000Z`,
  ];
  expect(at()).toEqual(whole);
  expect(at(107)).toEqual(whole);
});

test('a table that is too wide has short ids and times, then cut words, then fewer columns, and says which', () => {
  expect(at(106)[1]).toBe('01a2037f-5327-7fa7  pending_dispatch  The Corner Market of Reno  1970-01-01T00:00Z');
  expect(at(70)[1]).toBe('01a2037f-5327-7fa7  pending_dispat…  The Corner Mar…  1970-01-01T00:…');
  const narrow = at(40);
  expect(narrow.slice(1)).toEqual([
    '01a2037f-5327-7fa7  pending_dis…',
    'Too narrow for: store, created_at; see --columns and --json.',
  ]);
  for (const width of [106, 70, 40])
    for (const line of at(width).slice(0, 2)) expect([...line].length <= width).toBe(true);
  expect(at(1)[1]).toBe('01a2037f-5327-7fa7');
});

test('a record is never cut', () => {
  expect(render(ROW, false, 20)).toContain(ID);
});
