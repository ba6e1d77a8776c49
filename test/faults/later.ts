import { STEP_MS } from '../harness/patience.ts';

/** Pause between two looks. */
export const POLL_MS = 20;

export const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Looks again and again until it is enough, or for so long; returns what was seen last. */
export async function lookUntil<Seen>(
  look: () => Seen | Promise<Seen>,
  isEnough: (seen: Seen) => unknown,
  forMs: number,
  pauseMs = POLL_MS,
): Promise<Seen> {
  const untilMs = performance.now() + forMs;
  for (;;) {
    const seen = await look();
    if (isEnough(seen) || performance.now() > untilMs) return seen;
    await later(pauseMs);
  }
}

/**
 * Looks until there is something, and returns it.
 *
 * @throws {Error} that says what is waited for
 */
export async function until<Found>(
  what: string,
  look: () => Found | false | undefined | Promise<Found | false | undefined>,
  forMs = STEP_MS,
): Promise<Found> {
  const found = await lookUntil(look, Boolean, forMs);
  if (!found) throw new Error(`It takes too long until ${what}`);
  return found;
}
