const GUESSES = /'([^']*)'\n\(Did you mean (?:one of )?([^?]+)\?\)/;

/**
 * Commander's error without the guesses that are no slip of the fingers: by spelling it takes `return` for
 * `refund`, and `deactivate` for `activate`.
 */
export function withoutFarGuesses(error: string): string {
  return error.replace(GUESSES, (_, typed: string, guesses: string) => {
    const near = guesses.split(', ').filter((guess) => surplus(typed, guess) <= 1 && surplus(guess, typed) <= 1);
    return near.length === 0 ? `'${typed}'` : `'${typed}'\n(Did you mean ${near.join(' or ')}?)`;
  });
}

/** How many letters of a word the other one has not. */
function surplus(word: string, other: string): number {
  const left = [...other];
  return [...word].filter((letter) => {
    const found = left.indexOf(letter);
    if (found >= 0) left.splice(found, 1);
    return found < 0;
  }).length;
}
