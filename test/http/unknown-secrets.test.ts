import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createUnknownSecrets, networkOf } from '../../src/http/unknown-secrets.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('an address over its bound waits until its window is over, and then begins anew', async () => {
  const unknown = createUnknownSecrets({ most: 2, windowSeconds: 60, slots: 1_000_000 });
  await unknown.count('203.0.113.7');
  vi.advanceTimersByTime(20_000);
  expect(await unknown.secondsToWait('203.0.113.7')).toBe(0);
  await unknown.count('203.0.113.7');
  expect(await unknown.secondsToWait('203.0.113.7')).toBe(40);
  expect(await unknown.secondsToWait('203.0.113.8')).toBe(0);
  vi.advanceTimersByTime(39_500);
  expect(await unknown.secondsToWait('203.0.113.7')).toBe(1);
  vi.advanceTimersByTime(500);
  expect(await unknown.secondsToWait('203.0.113.7')).toBe(0);
});

test('no number of addresses takes more than the slots, and what is over is forgotten', async () => {
  const unknown = createUnknownSecrets({ most: 2, windowSeconds: 60, slots: 8 });
  for (let i = 0; i < 1_000; i++) await unknown.count(`10.0.${i >> 8}.${i & 255}`);
  // One timer stands for each counted slot.
  expect(vi.getTimerCount()).toBe(8);
  vi.advanceTimersByTime(60_000);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '8193:3512:1:2'],
  ['2001:db8:1:2::', '8193:3512:1:2'],
  ['2001:0db8:0001:0002:0000:0000:0000:0001', '8193:3512:1:2'],
  ['2001:db8::1', '8193:3512:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', '65152:0:0:0'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['0000:0000:0000:0000:0000:ffff:cb00:7107', '203.0.113.7'],
  ['unknown', 'unknown'],
  ['', ''],
])('%s stands for %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
