import { expect, test } from 'vitest';
import type { EventRow } from './checker.ts';
import { judgeTaps, type Tap } from './taps.ts';

const tapOf = (changes: Partial<Tap> = {}): Tap => ({
  orderId: 'order',
  driverId: 'driver',
  kind: 'pick-up',
  actionId: 'a',
  sentMs: 0,
  heardMs: 10,
  status: 200,
  done: { status: 'picked_up', sequence: 2 },
  told: null,
  ...changes,
});
const refusal = (told: string, changes: Partial<Tap> = {}): Tap =>
  tapOf({ status: 409, done: null, told, actionId: 'b', ...changes });
const EVENTS: EventRow[] = [{ orderId: 'order', sequence: 2, type: 'picked_up', driverId: null, atMs: 0 }];
const KEPT = [{ driverId: 'driver', actionId: 'a' }];

test('a double tap with one answer, and another that came too late, are as promised', () => {
  const early = refusal('pending_dispatch', { actionId: 'a', sentMs: 5 });
  expect(judgeTaps([tapOf(), tapOf({ sentMs: 5 }), early, refusal('picked_up')], EVENTS, KEPT)).toEqual([]);
});

test.each<[string, readonly Tap[], readonly EventRow[], typeof KEPT]>([
  ['an answer that is none', [tapOf(), refusal('', { status: 500 })], EVENTS, KEPT],
  ['an answer that leads elsewhere', [tapOf({ kind: 'release' })], EVENTS, KEPT],
  ['an event that is missing', [tapOf()], [], KEPT],
  ['an event of another kind', [tapOf()], [{ ...(EVENTS[0] as EventRow), type: 'released' }], KEPT],
  ['two answers for one action', [tapOf(), tapOf({ done: { status: 'picked_up', sequence: 3 } })], EVENTS, KEPT],
  ['a refusal of what was done before', [tapOf(), refusal('delivered', { actionId: 'a', sentMs: 11 })], EVENTS, KEPT],
  ['a refusal that saw it done', [tapOf(), refusal('picked_up', { actionId: 'a', sentMs: 5 })], EVENTS, KEPT],
  ['what was done and not kept', [tapOf()], EVENTS, []],
  ['what was refused and kept', [refusal('delivered', { actionId: 'a' })], EVENTS, KEPT],
])('%s is found', (_what, taps, events, kept) => {
  expect(judgeTaps(taps, events, kept)).not.toEqual([]);
});
