import { expect, it } from 'vitest';
import { Unsettled } from '../../src/dispatch/unknown-outcomes.ts';

const KEPT_MS = 1_000;

function world() {
  const clock = { ms: 0 };
  const unsettled = new Unsettled(KEPT_MS, 2, () => clock.ms);
  const readAgain: string[] = [];
  unsettled.onAdded((orderId) => readAgain.push(orderId));
  return { clock, unsettled, readAgain };
}
/** As Postgres tells it where it has five characters, else as the client does. */
const failure = (code: string) =>
  Object.assign(new Error(code), { code, ...(code.length === 5 ? { severity: 'ERROR' } : {}) });

it('has an order read again, and knows it for a while', () => {
  const { clock, unsettled, readAgain } = world();
  unsettled.add('a');
  expect(readAgain).toEqual(['a']);
  clock.ms = KEPT_MS - 1;
  expect(unsettled.has('a')).toBe(true);
  clock.ms = KEPT_MS;
  expect(unsettled.has('a')).toBe(false);
});

it('forgets the oldest of too many; one that is added again is none of these', () => {
  const { unsettled } = world();
  for (const id of ['a', 'b', 'a', 'c']) unsettled.add(id);
  expect(['a', 'b', 'c'].map((id) => unsettled.has(id))).toEqual([true, false, true]);
});

it('adds the order of a write of unknown outcome, and no other', async () => {
  const { unsettled, readAgain } = world();
  expect(await unsettled.watch('done', Promise.resolve(1))).toBe(1);
  for (const [id, code] of [
    ['unsent', 'DATABASE_AWAY'],
    ['refused', '23505'],
    ['lost', 'CONNECTION_CLOSED'],
    ['late', 'DEADLINE_SENT'],
  ] as const) {
    await expect(unsettled.watch(id, Promise.reject(failure(code)))).rejects.toThrow(code);
  }
  expect(readAgain).toEqual(['lost', 'late']);
});
