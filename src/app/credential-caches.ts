import { type Credentials, createCredentials } from '../http/credentials.ts';
import { createUnknownSecrets } from '../http/unknown-secrets.ts';
import {
  ADDRESS_SLOTS,
  CREDENTIAL_KEEP_MS,
  CREDENTIAL_REMEMBERED_MS,
  MAX_CREDENTIALS_KEPT,
  MAX_KEY_READS,
  MAX_KEYS_PER_STATEMENT,
  MAX_UNKNOWN_SECRETS,
  UNKNOWN_SECRETS_SECONDS,
} from '../limits.ts';
import { batched, limitConcurrency } from '../postgres/batched-reads.ts';
import type { RetailerKey } from '../store/retailers.ts';
import type { Store } from '../store/store.ts';

export type CredentialCaches = {
  readonly stores: Credentials<RetailerKey>;
  readonly drivers: Credentials<{ readonly driverId: string }>;
};

/** The caches of API keys and driver tokens. Both share one count of unknown secrets by address. */
export function openCredentialCaches(store: Pick<Store, 'findKeys' | 'findDriverByToken'>): CredentialCaches {
  // Ages are measured within this process, so its own clock will do.
  const kept = {
    keepMs: CREDENTIAL_KEEP_MS,
    rememberMs: CREDENTIAL_REMEMBERED_MS,
    maxKept: MAX_CREDENTIALS_KEPT,
    now: () => performance.now(),
  };
  const unknown = createUnknownSecrets({
    most: MAX_UNKNOWN_SECRETS,
    windowSeconds: UNKNOWN_SECRETS_SECONDS,
    slots: ADDRESS_SLOTS,
  });
  const findKey = batched(store.findKeys, (hash) => hash, MAX_KEYS_PER_STATEMENT, limitConcurrency(MAX_KEY_READS));
  return {
    stores: createCredentials(findKey, unknown, kept),
    drivers: createCredentials(store.findDriverByToken, unknown, kept),
  };
}
