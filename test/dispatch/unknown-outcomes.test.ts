import { expect, it } from 'vitest';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import { UnknownOutcomes } from '../../src/dispatch/unknown-outcomes.ts';

const KEPT_MS = 1_000;

function world() {
  const clock = { ms: 0 };
  const events = new OrderEvents();
  const unknownOutcomes = new UnknownOutcomes(KEPT_MS, 2, () => clock.ms, events);
  const readAgain: string[] = [];
  events.subscribe({ outcomeUnknown: (orderId) => readAgain.push(orderId) });
  return { clock, unknownOutcomes, readAgain };
}
/** An error of Postgres for a code of five characters, else of the client. */
const failure = (code: string) =>
  Object.assign(new Error(code), { code, ...(code.length === 5 ? { severity: 'ERROR' } : {}) });

it('has an order read again, and keeps it for a while', () => {
  const { clock, unknownOutcomes, readAgain } = world();
  unknownOutcomes.add('a');
  expect(readAgain).toEqual(['a']);
  clock.ms = KEPT_MS - 1;
  expect(unknownOutcomes.has('a')).toBe(true);
  clock.ms = KEPT_MS;
  expect(unknownOutcomes.has('a')).toBe(false);
});

it('drops the oldest of too many, and not one that was added again', () => {
  const { unknownOutcomes } = world();
  for (const id of ['a', 'b', 'a', 'c']) unknownOutcomes.add(id);
  expect(['a', 'b', 'c'].map((id) => unknownOutcomes.has(id))).toEqual([true, false, true]);
});

it('owes the ring for a gift to its driver, once, however long the tables are away', () => {
  const { clock, unknownOutcomes } = world();
  for (const id of ['a', 'b', 'c']) unknownOutcomes.add(id, `driver of ${id}`);
  clock.ms = KEPT_MS;
  unknownOutcomes.add('b');
  expect(unknownOutcomes.takeGift('b', 'driver of c')).toBe(false);
  expect(['a', 'b', 'b'].map((id) => unknownOutcomes.takeGift(id, `driver of ${id}`))).toEqual([false, true, false]);
});

it('forgets a gift that a read did not show when its write could arrive no more', () => {
  const { clock, unknownOutcomes } = world();
  unknownOutcomes.add('a', 'driver');
  unknownOutcomes.settle(['a']);
  expect(unknownOutcomes.giftIds()).toEqual(['a']);
  clock.ms = KEPT_MS;
  unknownOutcomes.settle(['a']);
  expect([unknownOutcomes.giftIds(), unknownOutcomes.takeGift('a', 'driver')]).toEqual([[], false]);
});

it('adds the order of a write of unknown outcome, and no other', async () => {
  const { unknownOutcomes, readAgain } = world();
  expect(await unknownOutcomes.watch('done', Promise.resolve(1))).toBe(1);
  for (const [id, code] of [
    ['unsent', 'DATABASE_AWAY'],
    ['refused', '23505'],
    ['lost', 'CONNECTION_CLOSED'],
    ['late', 'DEADLINE_SENT'],
  ] as const) {
    await expect(unknownOutcomes.watch(id, Promise.reject(failure(code)))).rejects.toThrow(code);
  }
  expect(readAgain).toEqual(['lost', 'late']);
});
