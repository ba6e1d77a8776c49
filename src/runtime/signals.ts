import { type Config, DEFAULT_STOP_NOTICE_SECONDS } from '../config.ts';
import { below } from '../limits.ts';
import { CLOSE_ALL_MS } from './closers.ts';

/** Longest stop from then on; then the process ends. */
export const STOP_DEADLINE_MS = 7_500;
/** Time within which a second SIGINT is the same one: behind npm a terminal's Ctrl-C arrives twice. */
export const SIGNAL_ECHO_MS = 2_000;
/** Time after which Docker kills a container that was told to stop. */
const DOCKER_STOP_MS = 10_000;

below({ CLOSE_ALL_MS }, { STOP_DEADLINE_MS });
below(
  { 'STOP_DEADLINE_MS after DEFAULT_STOP_NOTICE_SECONDS': STOP_DEADLINE_MS + DEFAULT_STOP_NOTICE_SECONDS * 1_000 },
  { DOCKER_STOP_MS },
);

export type Stop = {
  /**
   * Sets what a signal closes, within the given time in milliseconds; closes it at once if a signal has arrived
   * before.
   */
  use(close: (withinMs: number) => Promise<void>): void;
  /** Stops as a signal does, and prints the reason. The exit code is 1, so that systemd starts the service again. */
  now(reason: string): void;
};

type Stopped = { readonly reason: string; readonly atMs: number; readonly exitCode: number };

/**
 * Stops the process on SIGTERM and SIGINT. SIGHUP is ignored, as nothing is read anew, except in the sandbox, which
 * ends with its terminal. The exit code of a signal is 0 if everything closes within STOP_DEADLINE_MS after the notice,
 * else 1.
 * A second signal ends the process at once, except a SIGINT within SIGNAL_ECHO_MS of another one, because a Ctrl-C
 * reaches a process behind npm twice.
 */
export function onSignals(
  say: (line: string) => void,
  { sandbox, stopNoticeSeconds }: Pick<Config, 'sandbox' | 'stopNoticeSeconds'>,
): Stop {
  let close: ((withinMs: number) => Promise<void>) | null = null;
  const noticeMs = stopNoticeSeconds * 1_000;
  let stopped: Stopped | null = null;

  async function stop(reason: string, exitCode = 0): Promise<void> {
    if (stopped !== null) {
      const isEcho = reason === 'SIGINT' && stopped.reason === 'SIGINT';
      if (!isEcho || performance.now() - stopped.atMs > SIGNAL_ECHO_MS) process.exit(1);
      return;
    }
    stopped = { reason, atMs: performance.now(), exitCode };
    say(`Stopping: ${reason}`);
    // While the service is still starting, the start is awaited first; the deadline covers both.
    setTimeout(() => process.exit(1), noticeMs + STOP_DEADLINE_MS).unref();
    if (close) await finish(stopped);
  }

  async function finish({ atMs, exitCode }: Stopped): Promise<void> {
    await close?.(noticeMs + CLOSE_ALL_MS - (performance.now() - atMs));
    process.exit(exitCode);
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
  process.on('SIGHUP', () => sandbox && void stop('SIGHUP'));
  return {
    use(closer) {
      close = closer;
      if (stopped !== null) void finish(stopped);
    },
    now(reason) {
      if (stopped === null) void stop(reason, 1);
    },
  };
}
