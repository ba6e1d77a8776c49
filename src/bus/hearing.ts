import type { LastWord } from './last-word.ts';

export type Hearing = ReturnType<typeof createHearing>;

/**
 * Knows how far the notices are heard, by words that this process sends itself while somebody asks: one that
 * comes back was committed after everything that came before it.
 *
 * @param everyMs shortest time between two words
 */
export function createHearing(lastWord: Pick<LastWord, 'caughtUp'>, everyMs: number, now: () => number) {
  let interruptions = 0;
  /** Before the first word came back, it is not certain that this process listened. */
  let listensSinceMs = Number.POSITIVE_INFINITY;
  let heardUpToMs = Number.NEGATIVE_INFINITY;
  let saidMs = Number.NEGATIVE_INFINITY;
  let isSaying = false;

  async function say(): Promise<void> {
    isSaying = true;
    saidMs = now();
    const [before, upToMs] = [interruptions, saidMs];
    const isHeard = await lastWord.caughtUp();
    isSaying = false;
    if (!isHeard || before !== interruptions) return;
    listensSinceMs = Math.min(listensSinceMs, now());
    heardUpToMs = upToMs;
  }

  return {
    /**
     * The moment up to which every change is heard of that was committed since `sinceMs`, in milliseconds of the
     * clock; `-Infinity` where that is not known. Whoever asks keeps the answer fresh.
     */
    upToMs(sinceMs: number) {
      if (!isSaying && now() - saidMs >= everyMs) void say();
      return sinceMs >= listensSinceMs ? heardUpToMs : Number.NEGATIVE_INFINITY;
    },
    /** Listening began anew, so notices may have been missed. */
    interrupted() {
      interruptions++;
      listensSinceMs = Number.POSITIVE_INFINITY;
      heardUpToMs = Number.NEGATIVE_INFINITY;
    },
  };
}
