import type { ChildProcess } from 'node:child_process';

const STOP_MS = 60_000;

/** What was started and must be stopped. */
export type Stoppable = { stop(): Promise<unknown> };

/** Keeps what was started for `stopAll`, and gives up there if the run was stopped meanwhile. */
export function keeper(parts: Stoppable[], signal?: AbortSignal) {
  return <Part extends Stoppable>(part: Part): Part => {
    parts.push(part);
    signal?.throwIfAborted();
    return part;
  };
}

/**
 * Stops all of them, last in first out, and empties the list. One that fails keeps none of the others
 * running.
 *
 * @throws the first failure, when all were asked to stop
 */
export async function stopAll(parts: Stoppable[]): Promise<void> {
  const failures: unknown[] = [];
  for (let part = parts.pop(); part; part = parts.pop()) {
    await part.stop().catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

/** Ends a process as it is asked to, or by force where it takes too long. */
export async function endProcess(child: ChildProcess, ask: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  ask();
  await ended;
  clearTimeout(timer);
}
