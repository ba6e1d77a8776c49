import type { ChildProcess } from 'node:child_process';
import { STEP_MS } from '../harness/patience.ts';
import { later } from './later.ts';

/** Pause between two looks. */
export const POLL_MS = 20;

/** Kills a program, and waits for its end. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const end = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGKILL');
  await end;
}

/**
 * Looks until there is something, and returns it.
 *
 * @throws {Error} that says what is waited for, after STEP_MS
 */
export async function until<Found>(what: string, look: () => Promise<Found | false | undefined>): Promise<Found> {
  const untilMs = performance.now() + STEP_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > untilMs) throw new Error(`It takes too long until ${what}`);
    await later(POLL_MS);
  }
}
