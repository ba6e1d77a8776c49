import { expect, test } from 'vitest';
import type { StoreEvent } from '../../src/domain/store-event.ts';
import { findMisread } from './event-readers.ts';

const event = (number: number, order = 'order'): StoreEvent => ({
  cursor: String(number),
  type: 'order.paid',
  timestamp: '',
  data: { order_id: order, sequence: number },
});
const found = (followed: StoreEvent[], read: StoreEvent[][] = []) =>
  findMisread({ store: { id: 'store' }, followed, read });

test('readers who see the same events in the same order are no finding', () => {
  const all = [event(1), event(3), event(7)];
  expect(found(all, [all, all.slice(0, 2), []])).toEqual([]);
});

test.each([
  ['an event twice', [event(1), event(1)], [], 'events: the reader of store saw 1 out of order'],
  ['an event late', [event(2), event(1)], [], 'events: the reader of store saw 1 out of order'],
  ['an event that another reader lacks', [event(1), event(2)], [[event(2)]], 'events: 1 readings of store differ'],
  ['another event', [event(1)], [[event(1, 'other')]], 'events: 1 readings of store differ'],
])('a reader who sees %s is one', (_what, followed, read, finding) => {
  expect(found(followed, read)).toEqual([finding]);
});
