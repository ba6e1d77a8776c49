import { expect, test } from 'vitest';
import { errorFields } from '../src/telemetry.ts';

test('of an error its class, its code and the place in the project are told, and nothing of its message', () => {
  const error = Object.assign(new TypeError('no such customer: Jordan Lee\n    at 401 Valencia St'), { code: 'E1' });
  const { name, code, at } = errorFields(error);
  expect([name, code]).toEqual(['TypeError', 'E1']);
  expect(at).toContain('telemetry.test.ts');
  expect(JSON.stringify(errorFields(error))).not.toContain('Valencia');
});

test('what is no error is told by its type', () => {
  expect(errorFields('Jordan Lee')).toEqual({ name: 'string' });
});
