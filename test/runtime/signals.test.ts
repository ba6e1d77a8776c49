import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { onSignals, SIGNAL_ECHO_MS, STOP_DEADLINE_MS } from '../../src/runtime/signals.ts';

const heard = new Map<string | symbol, () => void>();
const signal = (name: NodeJS.Signals) => heard.get(name)?.();
let said: string[];
let exits: (number | string | null | undefined)[];

beforeEach(() => {
  said = [];
  exits = [];
  vi.useFakeTimers();
  vi.spyOn(process, 'on').mockImplementation((name, listener) => {
    heard.set(name, listener as () => void);
    return process;
  });
  // What ends the process must not end the tests.
  vi.spyOn(process, 'exit').mockImplementation((code) => void exits.push(code) as never);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const listen = (sandbox = false) => onSignals((line) => void said.push(line), { sandbox, stopNoticeSeconds: 2 });

test('a terminal that closes ends a sandbox, and no other service', () => {
  listen(false);
  signal('SIGHUP');
  expect(said).toEqual([]);
  listen(true);
  signal('SIGHUP');
  expect(said).toEqual(['Stopping: SIGHUP']);
});

test.each([
  ['SIGTERM', 'SIGTERM'],
  ['SIGTERM', 'SIGINT'],
  ['SIGINT', 'SIGTERM'],
] as const)('a %s begins the stop, and a %s behind it ends it at once', (first, second) => {
  listen();
  signal(first);
  expect([said, exits]).toEqual([[`Stopping: ${first}`], []]);
  signal(second);
  expect(exits).toEqual([1]);
});

test('a Ctrl-C that arrives twice is one, and another one ends the stop at once', () => {
  listen();
  signal('SIGINT');
  signal('SIGINT');
  expect(exits).toEqual([]);
  vi.advanceTimersByTime(SIGNAL_ECHO_MS + 1);
  signal('SIGINT');
  expect(exits).toEqual([1]);
});

test('a process whose place another one took ends with 1, and on a signal with 0', async () => {
  const stop = listen();
  stop.use(async () => undefined);
  stop.now('another API process took over');
  await vi.advanceTimersByTimeAsync(0);
  expect(exits).toEqual([1]);
  listen().use(async () => undefined);
  signal('SIGTERM');
  await vi.advanceTimersByTimeAsync(0);
  expect(exits).toEqual([1, 0]);
});

test('a stop that hangs ends by itself, within 10 s with the notice of its default', () => {
  listen().use(() => new Promise(() => undefined));
  signal('SIGTERM');
  vi.advanceTimersByTime(2_000 + STOP_DEADLINE_MS - 1);
  expect(exits).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(exits).toEqual([1]);
  expect(2_000 + STOP_DEADLINE_MS).toBeLessThan(10_000);
});
