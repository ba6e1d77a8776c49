import { ServiceError } from '../domain/errors.ts';
import { classifyFailure } from '../postgres/failures.ts';

const NO_DATABASE = 'The service cannot reach its database right now; please try again.';

/**
 * Awaits a read. A database or a storage that cannot be asked is 503, since it says nothing about the caller.
 *
 * @param sentence the message then
 * @throws {ServiceError} `unavailable`; a mistake of the service's own is rethrown, and becomes a 500
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
 * Awaits a write. 503 says that nothing was written; after a lost answer that is not known.
 *
 * @param advice how the caller finds out what became of a write whose answer was lost
 * @throws {ServiceError} `unavailable` or `outcome_unknown`; a mistake of the service's own is rethrown
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
