/** Difference below which a phone's clock counts as right: a slow reply and a header in whole seconds explain it. */
const WRONG_MS = 20_000;

type KeptClock = { clockAheadMs(): number; keepClockAheadMs(aheadMs: number): void };

let aheadMs = 0;
let kept: KeptClock | null = null;

/** Begins with what an earlier page learned, so that what is done before there is a network has the right time too. */
export function startClock(from: KeptClock): void {
  kept = from;
  aheadMs = from.clockAheadMs();
}

/** By how many milliseconds the service's clock is ahead of the phone's; 0 where that is right, or not known. */
export function clockAheadMs(): number {
  return aheadMs;
}

/** Milliseconds since 1970 by the service's clock, which is right where the phone's is not. */
export function nowMs(): number {
  return Date.now() + aheadMs;
}

/**
 * Learns from a reply's header `Date`, which was written while the request was under way, in whole seconds.
 *
 * @param sentMs when the request was sent, by the phone's clock
 * @param receivedMs when its reply came
 */
export function learnClock(date: string | null, sentMs: number, receivedMs: number): void {
  const writtenMs = Date.parse(date ?? '');
  if (Number.isNaN(writtenMs)) return;
  const middle = writtenMs + 500 - (sentMs + receivedMs) / 2;
  const doubt = WRONG_MS + (receivedMs - sentMs) / 2;
  aheadMs = Math.abs(middle) <= doubt ? 0 : Math.round(middle);
  kept?.keepClockAheadMs(aheadMs);
}
