import { expect, onTestFinished, test, vi } from 'vitest';
import { onSignals } from '../../src/app/signals.ts';

test('a terminal that closes ends a sandbox, and no other service', () => {
  const heard = new Map<string | symbol, () => void>();
  const on = vi.spyOn(process, 'on').mockImplementation((name, listener) => {
    heard.set(name, listener as () => void);
    return process;
  });
  onTestFinished(() => on.mockRestore());
  const saidAtHangUp = (sandbox: boolean): string[] => {
    const said: string[] = [];
    onSignals((line) => void said.push(line), sandbox);
    // What ends the process after a deadline must not end the tests.
    vi.useFakeTimers();
    heard.get('SIGHUP')?.();
    vi.clearAllTimers();
    vi.useRealTimers();
    return said;
  };
  expect(saidAtHangUp(false)).toEqual([]);
  expect(saidAtHangUp(true)).toEqual(['Stopping: SIGHUP']);
});
