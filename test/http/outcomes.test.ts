import { expect, test } from 'vitest';
import { ServiceError } from '../../src/domain/errors.ts';
import { asAvailable, asWritten } from '../../src/http/outcomes.ts';

const failing = (code: string) => Promise.reject(Object.assign(new Error('no'), { code }));
const sqlError = (code: string) =>
  Promise.reject(Object.assign(new Error('no'), { code, severity: 'ERROR', name: 'PostgresError' }));

test.each(['CONNECTION_CLOSED', 'DEADLINE_SENT', 'CONNECT_TIMEOUT', 'TOO_MANY_PENDING'])(
  'what cannot be read for %s is unavailable',
  async (code) => {
    await expect(asAvailable(failing(code))).rejects.toMatchObject({ code: 'unavailable' });
  },
);

test.each([
  ['CONNECTION_CLOSED', 'outcome_unknown'],
  ['DEADLINE_SENT', 'outcome_unknown'],
  ['CONNECT_TIMEOUT', 'unavailable'],
  ['DEADLINE_UNSENT', 'unavailable'],
])('a write that failed with %s is %s', async (code, told) => {
  await expect(asWritten(failing(code), 'Ask.')).rejects.toMatchObject({ code: told });
});

test.each([
  ['read', (work: Promise<unknown>) => asAvailable(work)],
  ['write', (work: Promise<unknown>) => asWritten(work, 'Ask.')],
])('a %s passes on mistakes of ours and what is to be replied', async (_what, outcome) => {
  await expect(outcome(sqlError('42703'))).rejects.not.toBeInstanceOf(ServiceError);
  await expect(outcome(sqlError('22008'))).rejects.not.toBeInstanceOf(ServiceError);
  await expect(outcome(Promise.reject(new TypeError('undefined')))).rejects.toBeInstanceOf(TypeError);
  const reply = new ServiceError('not_found', 'no');
  await expect(outcome(Promise.reject(reply))).rejects.toBe(reply);
  expect(await outcome(Promise.resolve(7))).toBe(7);
});
