import type { SecretsFeed } from '../../src/app/credential-caches.ts';

/** A change feed's keys and tokens, for tests that authenticate nobody. */
export const NO_SECRETS: SecretsFeed = {
  readAll: async () => undefined,
  interrupted: () => undefined,
  noticed: () => undefined,
  read: async () => undefined,
  ask: () => undefined,
  heard: () => undefined,
};
