import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DUE_SLICE, startDueOrders } from '../../src/dispatch/due-orders.ts';
import { MATCHED_AT_ONCE } from '../../src/dispatch/redispatch.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { createLogger } from '../../src/telemetry.ts';
import { TIERS } from '../matcher/brute-force.ts';
import { freeDriver } from '../matcher/carrying.ts';

const NOW = Date.parse('2030-01-31T17:00:00Z');
const STORE = { lat: 40.73, lng: -73.99 };
const HOUR = 3_600_000;

let matcher: Matcher;
let asked: string[];
let close: () => void;
beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
  matcher = new Matcher(TIERS);
  matcher.putDriver(freeDriver('d', STORE, NOW));
  asked = [];
  const redispatch = {
    matchOrders: async (orderIds: readonly string[]) => void asked.push(...orderIds),
  };
  const clock = { now: () => Date.now() };
  ({ close } = startDueOrders({ matcher, redispatch, clock, logger: createLogger('silent') }));
});
afterEach(() => {
  close();
  vi.useRealTimers();
});

const wait = (orderId: string, dueMs: number) =>
  matcher.wait({ orderId, retailerId: 'store', tierId: 'standard', point: STORE, sinceMs: dueMs, dueMs });

test('an order is matched when it is due, to the millisecond, and not before', async () => {
  wait('tonight', NOW + 5 * HOUR);
  wait('soon', NOW + HOUR);
  await vi.advanceTimersByTimeAsync(HOUR - 1);
  expect([asked, matcher.isLater('soon')]).toEqual([[], true]);
  await vi.advanceTimersByTimeAsync(1);
  expect([asked, matcher.isWaiting('soon')]).toEqual([['soon'], true]);
  await vi.advanceTimersByTimeAsync(4 * HOUR);
  expect(asked).toEqual(['soon', 'tonight']);
});

test('an order that comes due while others wait longer is not missed, nor one that is due already', async () => {
  wait('tonight', NOW + 5 * HOUR);
  await vi.advanceTimersByTimeAsync(HOUR);
  wait('late', NOW);
  wait('next', NOW + 2 * HOUR);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked).toEqual(['late']);
  await vi.advanceTimersByTimeAsync(HOUR);
  expect(asked).toEqual(['late', 'next']);
});

test('an order that is cancelled is not matched, and those behind it are', async () => {
  wait('cancelled', NOW + HOUR);
  wait('next', NOW + 2 * HOUR);
  matcher.unwait('cancelled');
  await vi.advanceTimersByTimeAsync(2 * HOUR);
  expect(asked).toEqual(['next']);
});

test('more than a batch that are due at once are all matched', async () => {
  const ids = Array.from({ length: DUE_SLICE + MATCHED_AT_ONCE }, (_, i) => `order-${i}`);
  for (const id of ids) wait(id, NOW + HOUR);
  await vi.advanceTimersByTimeAsync(HOUR + 1);
  while (asked.length < ids.length) await vi.advanceTimersByTimeAsync(1);
  expect(asked.toSorted()).toEqual(ids.toSorted());
});

test('nothing is matched after the stop', async () => {
  wait('order', NOW + HOUR);
  close();
  await vi.advanceTimersByTimeAsync(2 * HOUR);
  expect([asked, matcher.isLater('order')]).toEqual([[], true]);
});
