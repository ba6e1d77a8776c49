import { expect, test } from 'vitest';
import type { StoreEvent } from '../../src/domain/store-event.ts';
import { EventCursors } from '../../src/events/event-cursors.ts';

const cursors = new EventCursors(Buffer.alloc(32, 1));
const event = (number: number): StoreEvent => ({ cursor: String(number), type: 'order.paid', timestamp: '', data: {} });
const page = (numbers: readonly number[], nextCursor: number) =>
  cursors.shown({ events: numbers.map(event), nextCursor: String(nextCursor) });
const numberOf = (cursor: string) => cursors.read(cursor)?.number;

test('the cursors of events say nothing of their numbers, and lead back to them', () => {
  const numbers = [1, 2, 3, 255, 256, 10 ** 15];
  const shown = page(numbers, 10 ** 15).events.map(({ cursor }) => cursor);
  expect(shown.every((cursor) => /^[\w-]{22}$/.test(cursor))).toBe(true);
  expect(shown.map(numberOf)).toEqual(numbers.map(String));
  expect(shown.map((cursor) => cursors.read(cursor)?.isPlain)).toEqual(numbers.map(() => false));
  // Neighbours share no more than chance would have it.
  const [one = '', two = ''] = shown.map((cursor) => Buffer.from(cursor, 'base64url').toString('hex'));
  expect([...one].filter((digit, i) => digit === two[i]).length).toBeLessThan(12);
});

test('an event has the same cursor each time, and a full page ends with that of its last one', () => {
  const first = page([7, 9], 9);
  expect(page([7, 9], 9)).toEqual(first);
  expect(first.next_cursor).toBe(first.events[1]?.cursor);
});

test('a place between events has another cursor each time, whether others had events or not', () => {
  const places = [page([], 9), page([], 9), page([7], 9), page([], 10)].map(({ next_cursor }) => next_cursor);
  expect(new Set(places).size).toBe(places.length);
  expect(places.map(numberOf)).toEqual(['9', '9', '9', '10']);
});

test('where nothing ever happened the cursor begins with what is kept', () => {
  expect(cursors.read(page([], 0).next_cursor)).toBeNull();
  expect(cursors.read('0')).toBeNull();
});

test('what was not given is no cursor, nor is what another database gave', () => {
  const elsewhere = new EventCursors(Buffer.alloc(32, 2));
  const foreign = elsewhere.shown({ events: [event(7)], nextCursor: '7' }).next_cursor;
  for (const text of [foreign, 'AAAAAAAAAAAAAAAAAAAAAA', 'x', '', '1'.repeat(19)]) {
    expect(cursors.read(text)).toBeUndefined();
  }
  const given = page([7], 7).next_cursor;
  // The last letter stands for two bits alone.
  const changed = [...given.slice(0, -1)].map(
    (letter, i) => given.slice(0, i) + (letter === 'A' ? 'Q' : 'A') + given.slice(i + 1),
  );
  expect(changed.map((text) => cursors.read(text))).toEqual(changed.map(() => undefined));
});

test('a plain number, which older versions gave, is known as such', () => {
  expect(cursors.read('7')).toEqual({ number: '7', isPlain: true });
});
