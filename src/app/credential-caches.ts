import { createLastWord } from '../bus/last-word.ts';
import type { NoticeKind } from '../bus/notices.ts';
import { type Credentials, createCredentials } from '../http/credentials.ts';
import { KnownSecrets } from '../http/known-secrets.ts';
import {
  CREDENTIAL_KEEP_MS,
  CREDENTIAL_REMEMBERED_MS,
  FEED_WORD_MS,
  FEED_WORD_PAUSE_MS,
  MAX_CREDENTIALS_KEPT,
  MAX_KEY_READS,
  MAX_KEYS_PER_STATEMENT,
  MAX_SECRETS_KNOWN,
  MAX_UNKNOWN_LOOK_UPS,
  SECRETS_PART,
} from '../limits.ts';
import { batched, limitConcurrency } from '../postgres/batched-reads.ts';
import type { RetailerKey } from '../store/retailers.ts';
import type { Store } from '../store/store.ts';

export type CredentialCaches = {
  readonly stores: Credentials<RetailerKey>;
  readonly drivers: Credentials<{ readonly driverId: string }>;
  readonly feed: SecretsFeed;
};

type SecretKinds = Extract<NoticeKind, 'key' | 'token'>;

/** How the change feed keeps the known keys and tokens in step with the tables. */
export type SecretsFeed = {
  /** Reads all of both kinds. */
  readAll(): Promise<void>;
  /** Listening was interrupted, so notices may have been missed. */
  interrupted(): void;
  /** A notice of these stores' keys, or drivers' tokens, came; `read` follows. */
  noticed(kind: SecretKinds, holderIds: readonly string[]): void;
  read(kind: SecretKinds, holderIds: readonly string[]): Promise<void>;
  /** A word of this process came back. */
  heard(word: string): void;
};

type Statements = Pick<
  Store,
  'findKeys' | 'findDriverByToken' | 'listKeys' | 'listKeysOf' | 'listTokens' | 'listTokensOf' | 'sayWord'
>;

/** The caches of API keys and driver tokens, and which of them the tables hold. */
export function openCredentialCaches(store: Statements): CredentialCaches {
  const lastWord = createLastWord(store.sayWord, { waitMs: FEED_WORD_MS, pauseMs: FEED_WORD_PAUSE_MS });
  const bounds = { most: MAX_SECRETS_KNOWN, part: SECRETS_PART, waitMs: FEED_WORD_MS };
  const known = {
    key: new KnownSecrets({ list: store.listKeys, listOf: store.listKeysOf }, lastWord, bounds),
    token: new KnownSecrets({ list: store.listTokens, listOf: store.listTokensOf }, lastWord, bounds),
  };
  // Ages are measured within this process, so its own clock will do.
  const kept = {
    keepMs: CREDENTIAL_KEEP_MS,
    rememberMs: CREDENTIAL_REMEMBERED_MS,
    maxKept: MAX_CREDENTIALS_KEPT,
    maxUnknownPerSecond: MAX_UNKNOWN_LOOK_UPS,
    now: () => performance.now(),
  };
  const findKey = batched(store.findKeys, (hash) => hash, MAX_KEYS_PER_STATEMENT, limitConcurrency(MAX_KEY_READS));
  const stores = createCredentials(findKey, known.key, kept);
  const drivers = createCredentials(store.findDriverByToken, known.token, kept);
  const credentials = { key: stores, token: drivers };
  const feed: SecretsFeed = {
    async readAll() {
      await known.key.readAll();
      await known.token.readAll();
    },
    interrupted() {
      known.key.interrupted();
      known.token.interrupted();
    },
    noticed: (kind, holderIds) => known[kind].noticed(holderIds),
    async read(kind, holderIds) {
      for (const revoked of await known[kind].read(holderIds)) credentials[kind].drop(revoked);
    },
    heard: lastWord.heard,
  };
  return { stores, drivers, feed };
}
