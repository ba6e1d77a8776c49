import { setTimeout as delay } from 'node:timers/promises';
import { withTimeout } from '../with-timeout.ts';

/**
 * Words in a row that Postgres took and that did not come back, after which this process does not hear. One is lost by
 * a process that stood still, and by listening that begins anew. With the wait for each that is some seconds at least.
 */
const MAX_WORDS_LOST = 3;
/**
 * Most words after which it listens anew where that did not help; they double each time. Behind a pooler that passes no
 * notices on it never does, and to listen anew has everything read again.
 */
const MOST_WORDS_LOST = 16 * MAX_WORDS_LOST;

export type LastWord = ReturnType<typeof createLastWord>;

/**
 * Finds out whether the notices are heard up to now: the process sends itself a word, and Postgres delivers
 * notices in the order of their commits. Callers share a word that is not sent yet; one is under way at a
 * time.
 *
 * @param say sends the word as a notice
 * @param bounds.waitMs longest wait for the word to come back
 * @param bounds.pauseMs pause between two words
 * @param deaf called where so many do not come back while Postgres answers, to have listening begin anew
 */
export function createLastWord(
  say: (word: string) => Promise<unknown>,
  bounds: { readonly waitMs: number; readonly pauseMs: number },
  deaf: () => void = () => undefined,
) {
  let said = 0;
  let lost = 0;
  let most = MAX_WORDS_LOST;
  let expected: { readonly word: string; readonly back: () => void } | null = null;
  let next: Promise<boolean> | null = null;
  let free: Promise<unknown> = Promise.resolve();

  async function ask(): Promise<boolean> {
    // Who calls from now on needs a later word.
    next = null;
    const word = String(++said);
    const back = new Promise<void>((resolve) => {
      expected = { word, back: resolve };
    });
    let isTaken = false;
    const taken = say(word).then(() => {
      isTaken = true;
    });
    const late = () => new Error('The word did not come back in time');
    return withTimeout(Promise.all([taken, back]), bounds.waitMs, late).then(
      () => true,
      () => {
        lost = isTaken ? lost + 1 : 0;
        if (lost === most) {
          lost = 0;
          most = Math.min(2 * most, MOST_WORDS_LOST);
          deaf();
        }
        return false;
      },
    );
  }

  return {
    /**
     * Whether every notice that was committed before this call has been heard. False where that is not known in
     * time: the database is away, or listening was interrupted. Never rejects.
     */
    caughtUp(): Promise<boolean> {
      if (next) return next;
      next = free.then(ask);
      free = next.then(() => delay(bounds.pauseMs, undefined, { ref: false }));
      return next;
    },
    /** To be called with each word that comes back. */
    heard(word: string) {
      lost = 0;
      most = MAX_WORDS_LOST;
      // In a later turn, so that what began to listen again just before the word is told so first.
      if (word === expected?.word) setImmediate(expected.back);
    },
  };
}
