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
import type { Sql } from '../postgres/connect.ts';
import { findDriverByToken } from '../store/drivers.ts';
import { findKeys, type RetailerKey } from '../store/retailers.ts';

export type CredentialCaches = {
  readonly stores: Credentials<RetailerKey>;
  readonly drivers: Credentials<{ readonly driverId: string }>;
};

/** Who holds which key and token, asked of the tables; one count of the unknown ones for both. */
export function openCredentialCaches(sql: Sql): CredentialCaches {
  // A moment is measured by this process alone, so its own clock serves.
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
  const findBatched = batched(
    (hashes: readonly string[]) => findKeys(sql, hashes),
    (hash) => hash,
    MAX_KEYS_PER_STATEMENT,
    limitConcurrency(MAX_KEY_READS),
  );
  return {
    stores: createCredentials(findBatched, unknown, kept),
    drivers: createCredentials((hash) => findDriverByToken(sql, hash), unknown, kept),
  };
}
