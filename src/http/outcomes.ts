import { ServiceError } from '../domain/errors.ts';
import { classifyFailure } from '../postgres/failures.ts';

const NO_DATABASE = 'The service cannot reach its database right now; please try again.';

/**
 * Awaits what is only read. A database or a storage that can't be asked is 503: it says nothing about the one who asks.
 *
 * @param sentence what is told then
 * @throws {ServiceError} `unavailable`; what is a mistake of ours comes through as it is, and is a 500
 */
export async function asAvailable<T>(work: Promise<T>, sentence = NO_DATABASE): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (isMistake(cause)) throw cause;
    throw new ServiceError('unavailable', sentence, { cause });
  }
}

/**
 * Awaits what writes. 503 says that nothing was written; a write whose answer was lost may have happened or may yet.
 *
 * @param advice how the caller finds out what became of a write whose answer was lost
 * @throws {ServiceError} `unavailable` or `outcome_unknown`; what is a mistake of ours comes through, and is a 500
 */
export async function asWritten<T>(work: Promise<T>, advice: string): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (isMistake(cause)) throw cause;
    if (classifyFailure(cause) !== 'unknown') throw new ServiceError('unavailable', NO_DATABASE, { cause });
    throw new ServiceError('outcome_unknown', `Whether this was done is not known. ${advice}`, { cause });
  }
}

function isMistake(cause: unknown): boolean {
  if (cause instanceof ServiceError) return true;
  const failure = classifyFailure(cause);
  return failure === 'bug' || failure === 'refused_row';
}
