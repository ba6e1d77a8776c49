import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';

/** What `expect(actual).toEqual(expected)` says, in a fraction of its time where both are the same. */
export function expectSame(actual: unknown, expected: unknown, what?: string): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual, what).toEqual(expected);
}
