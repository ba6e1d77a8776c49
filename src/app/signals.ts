import { SIGNAL_ECHO_MS, STOP_DEADLINE_MS } from '../limits.ts';

export type Stop = {
  /** Sets what a signal closes; closes it at once if a signal has arrived before. */
  use(close: () => Promise<void>): void;
  /** Stops as a signal does, and prints the reason. */
  now(reason: string): void;
};

/**
 * Stops the process on SIGTERM and SIGINT. SIGHUP is ignored, as nothing is read anew, except in the sandbox, which
 * ends with its terminal. The exit code is 0 if everything closes within
 * STOP_DEADLINE_MS, else 1. A second signal ends the process at once, but only after SIGNAL_ECHO_MS, because
 * a Ctrl-C reaches a process behind npm twice.
 */
export function onSignals(say: (line: string) => void, sandbox: boolean): Stop {
  let close: (() => Promise<void>) | null = null;
  let stoppedAtMs: number | null = null;

  async function stop(reason: string): Promise<void> {
    if (stoppedAtMs !== null) {
      if (performance.now() - stoppedAtMs > SIGNAL_ECHO_MS) process.exit(1);
      return;
    }
    stoppedAtMs = performance.now();
    say(`Stopping: ${reason}`);
    // While the service is still starting, the start is awaited first; the deadline covers both.
    setTimeout(() => process.exit(1), STOP_DEADLINE_MS).unref();
    if (close) await finish();
  }

  async function finish(): Promise<void> {
    await close?.();
    process.exit(0);
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
  process.on('SIGHUP', () => sandbox && void stop('SIGHUP'));
  return {
    use(closer) {
      close = closer;
      if (stoppedAtMs !== null) void finish();
    },
    now: (reason) => void stop(reason),
  };
}
