import { expect, onTestFinished, test, vi } from 'vitest';
import { EVENT_SWEEP_MS, EVENT_TURN_MS, EVENT_YIELD_MS, startEventWriter } from '../../src/events/event-writer.ts';
import type { NumberedEvents } from '../../src/store/events/events.ts';
import type { OutboxRow } from '../../src/store/outbox-rows.ts';

const NOTHING: NumberedEvents = { events: 0, isMore: false, hasWebhooks: true, outbox: [] };

/** A writer on a clock of its own, and the times of its turns. */
function startWriter(results: (Partial<NumberedEvents> | Error)[] = [], isYielding = false) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const turns: number[] = [];
  const askedWith: (boolean | undefined)[] = [];
  const limits: (number | undefined)[] = [];
  const relayed: (readonly OutboxRow[])[] = [];
  const warned: string[] = [];
  const startedMs = performance.now();
  const writer = startEventWriter(
    {
      async numberEvents(hasWebhooks, limit) {
        askedWith.push(hasWebhooks);
        limits.push(limit);
        turns.push(Math.round(performance.now() - startedMs));
        const result = results.shift() ?? {};
        if (result instanceof Error) throw result;
        return { ...NOTHING, ...result };
      },
    },
    { relay: (rows) => void relayed.push(rows) },
    { isYielding },
    {
      debug: () => undefined,
      info: () => undefined,
      warn: (_fields: unknown, message: string) => void warned.push(message),
      error: () => undefined,
    },
  );
  onTestFinished(() => writer.close());
  return { writer, turns, askedWith, limits, relayed, warned };
}
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test('has a turn at its start, at once when it is woken, and otherwise now and then', async () => {
  const { writer, turns } = startWriter();
  await pass(0);
  await pass(EVENT_TURN_MS + 10);
  writer.wake();
  await pass(0);
  await pass(EVENT_SWEEP_MS);
  expect(turns).toEqual([0, EVENT_TURN_MS + 10, EVENT_TURN_MS + 10 + EVENT_SWEEP_MS]);
});

test('wakes that come together share a turn, a moment after the last one', async () => {
  const { writer, turns } = startWriter();
  await pass(0);
  for (let i = 0; i < 100; i++) writer.wake();
  await pass(EVENT_TURN_MS);
  expect(turns).toEqual([0, EVENT_TURN_MS]);
});

test('has the next turn at once where more is left, and slower while jobs yield to orders', async () => {
  const { turns } = startWriter([{ isMore: true }, { isMore: true }]);
  await pass(10 * EVENT_TURN_MS);
  expect(turns).toEqual([0, EVENT_TURN_MS, 2 * EVENT_TURN_MS]);
  const yielding = startWriter([{ isMore: true }], true);
  await pass(EVENT_YIELD_MS);
  expect(yielding.turns).toEqual([0, EVENT_YIELD_MS]);
});

test('looks for webhooks until there is none, and again at once when there is one', async () => {
  const { writer, turns, askedWith } = startWriter([{ hasWebhooks: false }, { hasWebhooks: true, isMore: true }]);
  await pass(EVENT_TURN_MS);
  writer.wake();
  await pass(EVENT_TURN_MS / 2);
  expect(askedWith).toEqual([true, false, true]);
  expect(turns).toHaveLength(3);
});

test('a wake during a turn is followed by another turn, which sees what it is about', async () => {
  const { writer, turns, relayed } = startWriter([{ outbox: [{ id: 1 } as OutboxRow] }]);
  vi.advanceTimersByTime(0);
  writer.wake();
  await pass(EVENT_TURN_MS);
  expect(turns).toEqual([0, EVENT_TURN_MS]);
  expect(relayed[0]).toMatchObject([{ id: 1 }]);
});

test('goes on after failures, and says so once in a while', async () => {
  const { turns, warned } = startWriter([new Error('away'), new Error('away')]);
  await pass(2 * EVENT_YIELD_MS);
  expect(turns).toEqual([0, EVENT_YIELD_MS, 2 * EVENT_YIELD_MS]);
  expect(warned).toEqual(['events could not be numbered']);
});

test('takes half as many events after each failure, down to one, and twice as many after each success', async () => {
  const failures = Array.from({ length: 11 }, () => new Error('too late'));
  const { limits } = startWriter([...failures, ...Array.from({ length: 11 }, () => ({ isMore: true }))]);
  await pass(22 * EVENT_YIELD_MS);
  expect(limits.slice(0, 14)).toEqual([1_000, 500, 250, 125, 62, 31, 15, 7, 3, 1, 1, 1, 2, 4]);
  expect(limits.at(-1)).toBe(1_000);
});

test('has no turn after it is closed', async () => {
  const { writer, turns } = startWriter();
  await pass(0);
  writer.wake();
  await writer.close();
  writer.wake();
  await pass(2 * EVENT_SWEEP_MS);
  expect(turns).toEqual([0]);
});
