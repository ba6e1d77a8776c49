import { createHearing } from '../bus/hearing.ts';
import { createLastWord } from '../bus/last-word.ts';
import type { NoticeKind } from '../bus/notices.ts';
import { type Credentials, createCredentials } from '../http/credentials.ts';
import { KnownSecrets } from '../http/known-secrets.ts';
import {
  CREDENTIAL_KEEP_MS,
  CREDENTIAL_REMEMBERED_MS,
  CREDENTIAL_REREAD_MS,
  FEED_HEARD_MS,
  FEED_WORD_MS,
  FEED_WORD_PAUSE_MS,
  MAX_CREDENTIALS_KEPT,
  MAX_KEY_READS,
  MAX_KEYS_PER_STATEMENT,
  MAX_ORGANIZATION_KEYS,
  MAX_ORGANIZATION_KEYS_KEPT,
  MAX_SECRETS_KNOWN,
  MAX_UNKNOWN_LOOK_UPS,
  SECRETS_PART,
} from '../limits.ts';
import { batched, limitConcurrency } from '../postgres/batched-reads.ts';
import type { OrganizationKey } from '../store/organizations.ts';
import type { RetailerKey } from '../store/retailers.ts';
import type { Store } from '../store/store.ts';

export type CredentialCaches = {
  readonly stores: Credentials<RetailerKey>;
  readonly organizations: Credentials<OrganizationKey>;
  readonly drivers: Credentials<{ readonly driverId: string }>;
  /** What lets a driver's position in, and nothing else. */
  readonly trackers: Credentials<{ readonly driverId: string }>;
  readonly feed: SecretsFeed;
};

type SecretKinds = Extract<NoticeKind, 'key' | 'token' | 'tracker' | 'organization_key'>;

/** How the change feed keeps the known keys and tokens in step with the tables. */
export type SecretsFeed = {
  /** Reads all of every kind. */
  readAll(): Promise<void>;
  /** Listening was interrupted, so notices may have been missed. */
  interrupted(): void;
  /** A notice of these stores' or organizations' keys, or drivers' tokens, came; `read` follows. */
  noticed(kind: SecretKinds, holderIds: readonly string[]): void;
  read(kind: SecretKinds, holderIds: readonly string[]): Promise<void>;
  /** A word of this process came back. */
  heard(word: string): void;
};

type Statements = Pick<
  Store,
  | 'findKeys'
  | 'findOrganizationKeys'
  | 'findDriverByToken'
  | 'findDriverByTracker'
  | 'listKeys'
  | 'listKeysOf'
  | 'listOrganizationKeys'
  | 'listOrganizationKeysOf'
  | 'listTokens'
  | 'listTokensOf'
  | 'listTrackers'
  | 'listTrackersOf'
  | 'sayWord'
>;

/**
 * The caches of keys and driver tokens, and which of them the tables hold.
 *
 * @param now milliseconds since any moment; ages are measured within this process, so its own clock will do
 */
export function openCredentialCaches(store: Statements, now = () => performance.now()): CredentialCaches {
  const lastWord = createLastWord(store.sayWord, { waitMs: FEED_WORD_MS, pauseMs: FEED_WORD_PAUSE_MS });
  const bounds = { most: MAX_SECRETS_KNOWN, part: SECRETS_PART, waitMs: FEED_WORD_MS };
  const known = {
    key: new KnownSecrets({ list: store.listKeys, listOf: store.listKeysOf }, lastWord, bounds),
    token: new KnownSecrets({ list: store.listTokens, listOf: store.listTokensOf }, lastWord, bounds),
    tracker: new KnownSecrets({ list: store.listTrackers, listOf: store.listTrackersOf }, lastWord, bounds),
    organization_key: new KnownSecrets(
      { list: store.listOrganizationKeys, listOf: store.listOrganizationKeysOf },
      lastWord,
      bounds,
    ),
  };
  const kept = {
    keepMs: CREDENTIAL_KEEP_MS,
    rememberMs: CREDENTIAL_REMEMBERED_MS,
    maxKept: MAX_CREDENTIALS_KEPT,
    maxUnknownPerSecond: MAX_UNKNOWN_LOOK_UPS,
    now,
  };
  const keyReads = limitConcurrency(MAX_KEY_READS);
  const findKey = batched(store.findKeys, (hash) => hash, MAX_KEYS_PER_STATEMENT, keyReads);
  const findOrganizationKey = batched(store.findOrganizationKeys, (hash) => hash, MAX_ORGANIZATION_KEYS, keyReads);
  const hearing = createHearing(lastWord, FEED_HEARD_MS, now);
  const stores = createCredentials(findKey, known.key, {
    ...kept,
    heard: { upToMs: hearing.upToMs, rereadMs: CREDENTIAL_REREAD_MS, isTold: ({ keyEnds }) => !keyEnds },
  });
  const drivers = createCredentials(store.findDriverByToken, known.token, kept);
  const trackers = createCredentials(store.findDriverByTracker, known.tracker, kept);
  const organizations = createCredentials(findOrganizationKey, known.organization_key, {
    ...kept,
    maxKept: MAX_ORGANIZATION_KEYS_KEPT,
  });
  const credentials = { key: stores, token: drivers, tracker: trackers, organization_key: organizations };
  const feed: SecretsFeed = {
    async readAll() {
      await known.key.readAll();
      await known.token.readAll();
      await known.tracker.readAll();
      await known.organization_key.readAll();
    },
    interrupted() {
      hearing.interrupted();
      known.key.interrupted();
      known.token.interrupted();
      known.tracker.interrupted();
      known.organization_key.interrupted();
    },
    noticed: (kind, holderIds) => known[kind].noticed(holderIds),
    async read(kind, holderIds) {
      for (const revoked of await known[kind].read(holderIds)) credentials[kind].drop(revoked);
    },
    heard: lastWord.heard,
  };
  return { stores, organizations, drivers, trackers, feed };
}
