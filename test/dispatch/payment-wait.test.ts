import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createPaymentWait } from '../../src/dispatch/payment-wait.ts';
import type { PaymentStatus } from '../../src/domain/order.ts';

const WAIT_MS = 3_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function paymentWait(waitMs = WAIT_MS) {
  const table = new Map<string, PaymentStatus>();
  const store = {
    loadPaymentStatuses: vi.fn(
      async (ids: readonly string[]) => new Map([...table].filter(([id]) => ids.includes(id))),
    ),
  };
  return { table, store, wait: createPaymentWait(store, waitMs, 2, 2) };
}

test('a reply gets the result of its own charge at once, and of no other', async () => {
  const { wait } = paymentWait();
  const waiting = wait.paymentWithin('one');
  wait.paymentRecorded('other', 'failed');
  wait.paymentRecorded('one', 'processing');
  wait.paymentRecorded('one', 'paid');
  expect(await waiting).toBe('paid');
});

test('a reply waits no longer than its bound, and not at all if that is 0', async () => {
  const { wait } = paymentWait();
  const waiting = wait.paymentWithin('one');
  await vi.advanceTimersByTimeAsync(WAIT_MS);
  expect(await waiting).toBe('processing');
  expect(await paymentWait(0).wait.paymentWithin('one')).toBe('processing');
});

test('only payments that replies wait for are read, by one statement', async () => {
  const { table, store, wait } = paymentWait();
  const waiting = [wait.paymentWithin('one'), wait.paymentWithin('two')];
  table.set('one', 'paid').set('two', 'failed').set('nobody’s', 'paid');
  await wait.recheck(['nobody’s', 'two', 'one']);
  expect(await Promise.all(waiting)).toEqual(['paid', 'failed']);
  expect(store.loadPaymentStatuses.mock.calls).toEqual([[['two', 'one']]]);
});

test('nothing is read if no reply waits', async () => {
  const { store, wait } = paymentWait();
  await wait.recheck(['one']);
  const waiting = wait.paymentWithin('one');
  wait.paymentRecorded('one', 'paid');
  await waiting;
  await wait.recheck(['one', 'two']);
  expect(store.loadPaymentStatuses).not.toHaveBeenCalled();
});

test('a payment in progress leaves its reply waiting', async () => {
  const { table, wait } = paymentWait();
  const waiting = wait.paymentWithin('one');
  table.set('one', 'processing');
  await wait.recheck(['one']);
  table.set('one', 'paid');
  await wait.recheck(['one']);
  expect(await waiting).toBe('paid');
});

test('after several waits without a result one reply at a time waits as a probe', async () => {
  const { wait } = paymentWait();
  const missed = [wait.paymentWithin('one'), wait.paymentWithin('two')];
  expect(await wait.paymentWithin('beyond the bound')).toBe('processing');
  await vi.advanceTimersByTimeAsync(WAIT_MS);
  expect(await Promise.all(missed)).toEqual(['processing', 'processing']);
  const probe = wait.paymentWithin('three');
  expect(await wait.paymentWithin('four')).toBe('processing');
  wait.paymentRecorded('three', 'paid');
  expect(await probe).toBe('paid');
  const [five, six] = [wait.paymentWithin('five'), wait.paymentWithin('six')];
  wait.paymentRecorded('five', 'paid');
  wait.paymentRecorded('six', 'paid');
  expect(await Promise.all([five, six])).toEqual(['paid', 'paid']);
});

test('a stop ends every wait at once, and none begins after it', async () => {
  const { wait } = paymentWait();
  const waiting = [wait.paymentWithin('one'), wait.paymentWithin('two')];
  wait.end();
  expect(await Promise.all(waiting)).toEqual(['processing', 'processing']);
  expect(await wait.paymentWithin('three')).toBe('processing');
  expect(vi.getTimerCount()).toBe(0);
});
