import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ServiceError } from '../../src/domain/errors.ts';
import { createChargeRetries } from '../../src/payments/charge-retries.ts';
import { gate } from '../http/support.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const world = (perHour: number) => {
  const retries = createChargeRetries(perHour);
  return (store: string, isMade = true) => retries.run(store, async () => isMade, Boolean);
};

it('lets a store have so many charges tried again an hour, and others theirs', async () => {
  const retry = world(2);
  await retry('one');
  await retry('one');
  await expect(retry('one')).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 3_600 });
  await retry('other');
  vi.advanceTimersByTime(3_600_000);
  expect(await retry('one')).toBe(true);
});

it('does not count those that were not made', async () => {
  const retry = world(1);
  for (let i = 0; i < 5; i++) expect(await retry('one', false)).toBe(false);
  expect(await retry('one')).toBe(true);
  await expect(retry('one')).rejects.toMatchObject({ code: 'rate_limited' });
});

it('gives a try back while refused calls go on', async () => {
  const retries = createChargeRetries(1);
  const made = gate<boolean>();
  const first = retries.run('one', () => made.opened, Boolean);
  const retry = () => retries.run('one', async () => true, Boolean);
  for (let i = 0; i < 5; i++) await expect(retry()).rejects.toMatchObject({ code: 'rate_limited' });
  made.open(false);
  expect(await first).toBe(false);
  expect(await retry()).toBe(true);
});

it('counts one that failed only where it may have been made', async () => {
  const retries = createChargeRetries(2);
  const fail = (error: Error) => retries.run('one', () => Promise.reject(error), Boolean);
  const away = new ServiceError('unavailable', 'Nothing was written.');
  for (let i = 0; i < 5; i++) await expect(fail(away)).rejects.toBe(away);
  for (const open of [new ServiceError('outcome_unknown', 'Who knows.'), new TypeError('a mistake')]) {
    await expect(fail(open)).rejects.toBe(open);
  }
  await expect(fail(away)).rejects.toMatchObject({ code: 'rate_limited' });
});
