import { expect, it } from 'vitest';
import { warningsOf } from '../../src/http/order-warnings.ts';
import { accepted, ORDER, problems } from './order-input.ts';

const orderWith = (sandbox: unknown) => ({ ...ORDER, sandbox }) as never;

/** The scenario of an order, or its bad fields. */
function read(sandbox: unknown, isSandbox = true): unknown {
  const bad = problems(orderWith(sandbox), isSandbox);
  if (bad.length > 0) return bad.map((problem) => problem.split(':')[0]);
  return accepted(orderWith(sandbox), isSandbox).extras?.scenario ?? null;
}

it('an order of the sandbox asks for a bad day, or for parts of one', () => {
  const whole = { card: 'time_out', text: 'unknown_outcome', driver: 'gives_back' };
  expect(read(whole)).toEqual(whole);
  expect(read({ card: 'none', text: null })).toEqual({ card: 'none', text: null, driver: null });
  for (const nothing of [undefined, null, {}, { card: null }]) expect(read(nothing)).toBeNull();
});

it('values that are none are named', () => {
  expect(read({ card: 'stolen', text: '', driver: 1 })).toEqual(['sandbox.card', 'sandbox.text', 'sandbox.driver']);
  for (const wrong of ['declined', [], 1]) expect(read(wrong)).toEqual(['sandbox']);
});

it('outside the sandbox it is a field like any other that nobody knows', () => {
  for (const sandbox of [{ card: 'declined' }, { card: 'stolen' }, 'x']) {
    expect(read(sandbox, false)).toBeNull();
    expect(warningsOf(orderWith(sandbox)).map(({ field }) => field)).toEqual(['sandbox']);
  }
  expect(warningsOf(orderWith({ card: 'declined', cart: 1 }), true).map(({ field }) => field)).toEqual([
    'sandbox.cart',
  ]);
});
