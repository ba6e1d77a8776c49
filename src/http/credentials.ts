import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Hearing } from '../bus/hearing.ts';
import { ServiceError } from '../domain/errors.ts';
import { hashSecret, hasSecretForm, type KeyMode, keyModeOf } from '../domain/ids.ts';
import { bearerToken } from '../transport/request.ts';
import type { RequestHead } from '../transport/route.ts';
import type { KnownSecrets } from './known-secrets.ts';
import { asAvailable } from './outcomes.ts';

export type Credentials<Holder> = {
  /**
   * The holder of a secret, from memory if it was read within `keepMs`; null where nobody holds it.
   *
   * @throws {ServiceError} `unavailable` where it is not known whether anybody does, and too many secrets were
   *   looked up already
   */
  find(secretHash: string): Promise<Holder | null>;
  /**
   * Who held it within `rememberMs`: too old to let anybody in, but known at once. Null says nothing.
   */
  remembered(secretHash: string): Holder | null;
  /** Has the secrets of these holders looked up before they count again, as what is known of them changed. */
  forget(holds: (holder: Holder) => boolean): void;
  /** Drops what is kept of a secret that was revoked. */
  drop(secretHash: string): void;
};

/**
 * Caches who holds a secret for `keepMs`, so that a busy client costs two look-ups in that time and not one a
 * request. The time begins anew while it is proven that no notice was missed (`heard`), up to `rereadMs` after
 * the look-up. A revoked secret stops working when that time is over, whatever became of notices. Look-ups of
 * one secret at the same time are one. A secret that no table holds is nobody's without a look-up, however often
 * it is sent. While that is not known for certain, `maxUnknownPerSecond` secrets are looked up.
 */
export function createCredentials<Holder>(
  lookUp: (secretHash: string) => Promise<Holder | null>,
  secrets: Pick<KnownSecrets, 'has' | 'isCurrent' | 'add'>,
  options: {
    readonly keepMs: number;
    readonly rememberMs: number;
    readonly maxKept: number;
    readonly maxUnknownPerSecond: number;
    readonly now: () => number;
    /** Where every change of a holder is told by a notice that calls `forget`. */
    readonly heard?: {
      readonly upToMs: Hearing['upToMs'];
      readonly rereadMs: number;
      /** False for a holder whose secret ends at a time, which no notice tells. */
      readonly isTold: (holder: Holder) => boolean;
    };
  },
): Credentials<Holder> {
  /** With when it was read; `-Infinity` where that counts no more. */
  const kept = new Map<string, { readonly holder: Holder; readonly readMs: number }>();
  const asked = new Map<string, { readonly answer: Promise<Holder | null>; readonly sinceMs: number }>();
  /** How often `forget` was called. */
  let forgotten = 0;
  const unknown = new RateLimiterMemory({ points: options.maxUnknownPerSecond, duration: 1 });

  async function ask(secretHash: string): Promise<Holder | null> {
    // Counted from before the look-up, since its result is as old as that.
    const readMs = options.now();
    const forgottenBefore = forgotten;
    const holder = await lookUp(secretHash);
    // It may have been read before the change; the answer to a request that came before, too.
    if (forgotten !== forgottenBefore) return holder;
    if (holder === null) {
      // A suspended store's key may be good again at any time.
      const before = kept.get(secretHash);
      if (before) kept.set(secretHash, { ...before, readMs: Number.NEGATIVE_INFINITY });
      return null;
    }
    const [oldest] = kept.keys();
    if (kept.size >= options.maxKept && oldest !== undefined) kept.delete(oldest);
    kept.delete(secretHash);
    kept.set(secretHash, { holder, readMs });
    return holder;
  }

  /** Joins a look-up that is under way, unless its result may be older than what is kept. */
  function askOnce(secretHash: string): Promise<Holder | null> {
    const sinceMs = options.now();
    const other = asked.get(secretHash);
    if (other && sinceMs - other.sinceMs < options.keepMs) return other.answer;
    const answer = ask(secretHash).finally(() => {
      if (asked.get(secretHash)?.answer === answer) asked.delete(secretHash);
    });
    asked.set(secretHash, { answer, sinceMs });
    return answer;
  }

  /** The last moment at which what was read is known to have been true. */
  function trueAtMs({ holder, readMs }: { readonly holder: Holder; readonly readMs: number }): number {
    if (!options.heard?.isTold(holder)) return readMs;
    const { upToMs, rereadMs } = options.heard;
    return Math.max(readMs, Math.min(upToMs(readMs), readMs + rereadMs));
  }

  /**
   * Who held it when it was last read, and for how long that counts; looked up again before the time is over.
   */
  function recall(secretHash: string): { readonly holder: Holder; readonly leftMs: number } | null {
    const known = kept.get(secretHash);
    if (!known) return null;
    const leftMs = trueAtMs(known) + options.keepMs - options.now();
    // So that a busy client waits for no look-up; where it fails, the next request tries again.
    if (leftMs <= options.keepMs / 2) void askOnce(secretHash).catch(() => undefined);
    return { holder: known.holder, leftMs };
  }

  /** Looks up a secret that the tables may hold since a moment ago. */
  async function askWithinBound(secretHash: string): Promise<Holder | null> {
    const turn = await unknown.consume('all').catch(() => null);
    if (!turn) throw new ServiceError('unavailable', 'Whether this is known cannot be looked up now. Try again.');
    const holder = await askOnce(secretHash);
    if (holder !== null) secrets.add(secretHash);
    return holder;
  }

  return {
    async find(secretHash) {
      const known = recall(secretHash);
      if (known && known.leftMs > 0) return known.holder;
      if (known || secrets.has(secretHash)) return askOnce(secretHash);
      if (!(await secrets.isCurrent())) return askWithinBound(secretHash);
      return secrets.has(secretHash) ? askOnce(secretHash) : null;
    },
    remembered(secretHash) {
      const known = recall(secretHash);
      return known && known.leftMs > options.keepMs - options.rememberMs ? known.holder : null;
    },
    forget(holds) {
      forgotten++;
      // A request that comes later must not join a look-up that may have read what was before.
      asked.clear();
      for (const [secretHash, known] of kept) {
        if (holds(known.holder)) kept.set(secretHash, { ...known, readMs: Number.NEGATIVE_INFINITY });
      }
    },
    drop: (secretHash) => void kept.delete(secretHash),
  };
}

/** Authenticates requests by their bearer secrets. */
export type Authenticator<Holder> = {
  /**
   * @throws {ServiceError} `unauthorized` where the secret is missing or nobody's; `unavailable` where it
   *   cannot be looked up
   */
  authenticate(head: RequestHead): Promise<Holder>;
  /** Who held the request's secret a moment ago, known at once; null says nothing. */
  remembered(head: RequestHead): Holder | null;
};

const NAMES = { api_key: 'API key', organization_key: 'API key', driver_token: 'driver token' } as const;
/** The secrets that come in the header Authorization. */
type BearerKind = keyof typeof NAMES;

/** @param mode that of this service: keys that say the other one are refused by their form, without a look-up */
export function createAuthenticator<Holder>(
  kind: BearerKind,
  credentials: Pick<Credentials<Holder>, 'find' | 'remembered'>,
  mode: KeyMode | null = null,
): Authenticator<Holder> {
  const name = NAMES[kind];
  return {
    async authenticate(head) {
      const secret = bearerToken(head);
      if (secret === null)
        throw new ServiceError('unauthorized', `Send your ${name}: "Authorization: Bearer <${name}>".`);
      const reason = refusalByForm(kind, secret, mode);
      if (reason !== null) throw new ServiceError('unauthorized', reason);
      const holder = hasSecretForm(kind, secret) ? await asAvailable(credentials.find(hashSecret(secret))) : null;
      if (holder === null) throw unauthorized(name);
      return holder;
    },
    remembered(head) {
      const secret = bearerToken(head);
      if (secret === null || !hasSecretForm(kind, secret)) return null;
      return credentials.remembered(hashSecret(secret));
    },
  };
}

/** Why the form of a key alone says that it is of no use here; null where it does not. */
function refusalByForm(kind: BearerKind, secret: string, mode: KeyMode | null): string | null {
  const said = keyModeOf(secret);
  if (kind === 'driver_token' || said === null) return null;
  if (mode !== null && said !== mode) {
    const [of, here] = said === 'test' ? ['a sandbox', 'no sandbox'] : ['a live service', 'a sandbox'];
    return `The API key is of ${of} (sdk_${said}_…), and this is ${here}.`;
  }
  if (kind === 'api_key' && hasSecretForm('organization_key', secret)) {
    return "An organization's key (sdk_…_org_…) only reads orders and events. Use a key of the store itself here.";
  }
  return null;
}

export function unauthorized(name: string = NAMES.api_key): ServiceError {
  return new ServiceError('unauthorized', `The ${name} is wrong, or what it belongs to is not active.`);
}
