import { databaseRemedy } from './remedies.ts';

/**
 * A condition that the operator has to change before the service can start. Its message is shown without a
 * stack.
 */
export class StartError extends Error {}

/** Rethrows the error of a step whose messages are written for the operator. */
export function asStartError(error: unknown): never {
  throw new StartError(error instanceof Error ? error.message : String(error), { cause: error });
}

/** Rethrows an error of the database with what the operator does about it; as it is where nothing is known. */
export function asDatabaseError(error: unknown): never {
  const remedy = databaseRemedy(error);
  if (remedy === null) return asStartError(error);
  // A migration that failed has its own name in front.
  const before = error instanceof Error && error.name === 'MigrationRefused' ? `${error.message}. ` : '';
  throw new StartError(before + remedy, { cause: error });
}
