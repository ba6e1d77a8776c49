import { createHearing } from '../bus/hearing.ts';
import { createLastWord } from '../bus/last-word.ts';
import { type Credentials, createCredentials } from '../http/credentials.ts';
import { KnownSecrets } from '../http/known-secrets.ts';
import { below, MAX_COMMIT_BATCH, MAX_ORGANIZATION_KEYS, QUERY_DEADLINE_MS } from '../limits.ts';
import { batched, limitConcurrency } from '../postgres/batched-reads.ts';
import type { OrganizationKey } from '../store/accounts/organizations.ts';
import type { RetailerKey } from '../store/accounts/retailers.ts';
import type { SecretKind } from '../store/accounts/secrets.ts';
import type { Store } from '../store/store.ts';

/** Time for which a key or token is kept in memory, and so works on after it was revoked. Orders recheck. */
export const CREDENTIAL_KEEP_MS = 1_000;
/**
 * Time after which a store's key is looked up again even where every notice was heard: the worst that a change
 * without a notice can cost. A store that is suspended has its orders refused by their commit all the same.
 */
const CREDENTIAL_REREAD_MS = 60_000;
/**
 * Time for which a key that was good is told 503 without a new look-up, which would take long under that
 * load. Above CREDENTIAL_KEEP_MS.
 */
export const CREDENTIAL_REMEMBERED_MS = 10_000;
/** Most keys, and most tokens, kept in memory. */
export const MAX_CREDENTIALS_KEPT = 50_000;
/** Most keys that one statement reads: as many as a commit has orders. */
const MAX_KEYS_PER_STATEMENT = MAX_COMMIT_BATCH;
/** Most such statements in flight. */
const MAX_KEY_READS = 4;
/**
 * Most keys, and most tokens, whose hashes' beginnings are held, about 60 bytes each, so that a made-up one is
 * told from them. With more it is looked up, as at an interruption. Above MAX_CREDENTIALS_KEPT.
 */
const MAX_SECRETS_KNOWN = 500_000;
/** Keys or tokens that one statement reads of them. Below MAX_SECRETS_KNOWN. */
const SECRETS_PART = 50_000;
/**
 * Unknown keys, and as many tokens, that are looked up a second while notices do not arrive; another one gets
 * 503. A guesser takes no more of the database than that.
 */
export const MAX_UNKNOWN_LOOK_UPS = 100;
/** Longest wait for a process's own notice; then notices do not arrive. Below QUERY_DEADLINE_MS. */
const FEED_WORD_MS = 1_000;
/**
 * Time between two such notices that say up to when all were heard, while stores ask. A quarter of
 * CREDENTIAL_KEEP_MS, so that one may be late.
 */
const FEED_HEARD_MS = 250;
/** Pause between two such notices, which all unknown keys of that time share. */
const FEED_WORD_PAUSE_MS = 20;
/** Most organizations' keys kept in memory, with up to 60 KB of stores' ids each. */
const MAX_ORGANIZATION_KEYS_KEPT = 500;

below({ CREDENTIAL_KEEP_MS }, { CREDENTIAL_REMEMBERED_MS });
below({ CREDENTIAL_KEEP_MS }, { CREDENTIAL_REREAD_MS });
below({ 'twice FEED_HEARD_MS': 2 * FEED_HEARD_MS }, { CREDENTIAL_KEEP_MS });
below({ MAX_CREDENTIALS_KEPT }, { MAX_SECRETS_KNOWN });
below({ SECRETS_PART }, { MAX_SECRETS_KNOWN });
below({ FEED_WORD_MS }, { QUERY_DEADLINE_MS });

export type CredentialCaches = {
  readonly stores: Credentials<RetailerKey>;
  readonly organizations: Credentials<OrganizationKey>;
  readonly drivers: Credentials<{ readonly driverId: string }>;
  /** What lets a driver's position in, and nothing else. */
  readonly trackers: Credentials<{ readonly driverId: string }>;
  readonly feed: SecretsFeed;
};

/** How the change feed keeps the known keys and tokens in step with the tables. */
export type SecretsFeed = {
  /** Reads all of every kind. */
  readAll(): Promise<void>;
  /** Listening was interrupted, so notices may have been missed. */
  interrupted(): void;
  /** A notice of these stores' or organizations' keys, or drivers' tokens, came; `read` follows. */
  noticed(kind: SecretKind, holderIds: readonly string[]): void;
  read(kind: SecretKind, holderIds: readonly string[]): Promise<void>;
  /** Has this process say a word, by which it knows whether it hears. */
  ask(): void;
  /** A word of this process came back. */
  heard(word: string): void;
};

type Statements = Pick<
  Store,
  | 'findKeys'
  | 'findOrganizationKeys'
  | 'findDriverByToken'
  | 'findDriverByTracker'
  | 'listSecrets'
  | 'listSecretsOf'
  | 'sayWord'
>;

/**
 * The caches of keys and driver tokens, and which of them the tables hold.
 *
 * @param deaf called where the process's own notices do not come back though Postgres takes them
 * @param now milliseconds since any moment; ages are measured within this process, so its own clock will do
 * @param waitMs longest wait for the process's own notice
 */
export function openCredentialCaches(
  store: Statements,
  deaf: () => void,
  now = () => performance.now(),
  waitMs = FEED_WORD_MS,
): CredentialCaches {
  const lastWord = createLastWord(store.sayWord, { waitMs, pauseMs: FEED_WORD_PAUSE_MS }, deaf);
  const bounds = { most: MAX_SECRETS_KNOWN, part: SECRETS_PART, waitMs };
  const knownOf = (kind: SecretKind) =>
    new KnownSecrets(
      {
        list: (afterId, limit) => store.listSecrets(kind, afterId, limit),
        listOf: (holderIds) => store.listSecretsOf(kind, holderIds),
      },
      lastWord,
      bounds,
    );
  const known = {
    key: knownOf('key'),
    token: knownOf('token'),
    tracker: knownOf('tracker'),
    organization_key: knownOf('organization_key'),
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
      for (const ofKind of Object.values(known)) await ofKind.readAll();
    },
    interrupted() {
      hearing.interrupted();
      for (const ofKind of Object.values(known)) ofKind.interrupted();
    },
    noticed: (kind, holderIds) => known[kind].noticed(holderIds),
    async read(kind, holderIds) {
      for (const revoked of await known[kind].read(holderIds)) credentials[kind].drop(revoked);
    },
    ask: () => void lastWord.caughtUp(),
    heard: lastWord.heard,
  };
  return { stores, organizations, drivers, trackers, feed };
}
