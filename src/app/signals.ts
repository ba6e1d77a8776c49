import { SIGNAL_ECHO_MS, STOP_DEADLINE_MS } from '../limits.ts';

export type Stop = {
  /** What to close when the process is told to stop; at once if it was told already. */
  use(close: () => Promise<void>): void;
  /** Stops as a signal would, saying why. */
  now(reason: string): void;
};

/**
 * Stops the process on SIGTERM and SIGINT: exit code 0 when everything closed in time. A Ctrl-C reaches a process behind
 * npm twice, so a second signal counts only after `SIGNAL_ECHO_MS`; then it ends the process at once.
 */
export function onSignals(say: (line: string) => void): Stop {
  let close: (() => Promise<void>) | null = null;
  let stoppedAtMs: number | null = null;

  async function stop(reason: string): Promise<void> {
    if (stoppedAtMs !== null) {
      if (performance.now() - stoppedAtMs > SIGNAL_ECHO_MS) process.exit(1);
      return;
    }
    stoppedAtMs = performance.now();
    say(`Stopping: ${reason}`);
    // What is still being opened is awaited first; the deadline covers both.
    setTimeout(() => process.exit(1), STOP_DEADLINE_MS).unref();
    if (close) await finish();
  }

  async function finish(): Promise<void> {
    await close?.();
    process.exit(0);
  }

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void stop(signal));
  return {
    use(closer) {
      close = closer;
      if (stoppedAtMs !== null) void finish();
    },
    now: (reason) => void stop(reason),
  };
}
