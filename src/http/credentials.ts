import { ServiceError } from '../domain/errors.ts';
import { hashSecret, hasSecretForm, type SecretKind } from '../domain/ids.ts';
import { bearerToken } from '../transport/request.ts';
import type { RequestHead } from '../transport/route.ts';
import { asAvailable } from './outcomes.ts';
import type { UnknownSecrets } from './unknown-secrets.ts';

export type Credentials<Holder> = {
  /**
   * The holder of a secret, from memory if it was read within `keepMs`; null where nobody holds it.
   *
   * @param address the client's
   * @throws {ServiceError} `rate_limited` for an unknown secret from an address that sent too many of them
   */
  find(secretHash: string, address: string): Promise<Holder | null>;
  /**
   * Whether it was held within `rememberMs`: too old to let anybody in, but known at once. False says
   * nothing.
   */
  remembers(secretHash: string): boolean;
  /** Has the secrets of these holders looked up before they count again, as what is known of them changed. */
  forget(holds: (holder: Holder) => boolean): void;
};

/**
 * Caches who holds a secret for `keepMs`, so that a busy client costs two look-ups in that time and not one a
 * request. A revoked secret stops working when that time is over, whatever became of notices; "nobody" is
 * never cached, so a new secret works at once. Look-ups of one secret at the same time are one. A secret that
 * was good once is always looked up again; others are not, once their address has sent too many secrets that
 * nobody ever held here.
 */
export function createCredentials<Holder>(
  lookUp: (secretHash: string) => Promise<Holder | null>,
  unknown: UnknownSecrets,
  options: {
    readonly keepMs: number;
    readonly rememberMs: number;
    readonly maxKept: number;
    readonly now: () => number;
  },
): Credentials<Holder> {
  const kept = new Map<string, { readonly holder: Holder; readonly untilMs: number }>();
  const asked = new Map<string, { readonly answer: Promise<Holder | null>; readonly sinceMs: number }>();
  /** How often `forget` was called. */
  let forgotten = 0;

  async function ask(secretHash: string): Promise<Holder | null> {
    // Counted from before the look-up, since its result is as old as that.
    const untilMs = options.now() + options.keepMs;
    const forgottenBefore = forgotten;
    const holder = await lookUp(secretHash);
    // It may have been read before the change; the answer to a request that came before, too.
    if (forgotten !== forgottenBefore) return holder;
    if (holder === null) {
      // A key that was good once is no guess, and a suspended store's may be good again at any time.
      const before = kept.get(secretHash);
      if (before) kept.set(secretHash, { ...before, untilMs: Number.NEGATIVE_INFINITY });
      return null;
    }
    const [oldest] = kept.keys();
    if (kept.size >= options.maxKept && oldest !== undefined) kept.delete(oldest);
    kept.delete(secretHash);
    kept.set(secretHash, { holder, untilMs });
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

  /**
   * Who held it when it was last read, and for how long that counts; looked up again before the time is over.
   */
  function recall(secretHash: string): { readonly holder: Holder; readonly leftMs: number } | null {
    const known = kept.get(secretHash);
    if (!known) return null;
    const leftMs = known.untilMs - options.now();
    // So that a busy client waits for no look-up; where it fails, the next request tries again.
    if (leftMs <= options.keepMs / 2) void askOnce(secretHash).catch(() => undefined);
    return { holder: known.holder, leftMs };
  }

  async function refuseGuesser(address: string): Promise<void> {
    const retryAfterSeconds = await unknown.secondsToWait(address);
    if (retryAfterSeconds === 0) return;
    const message = 'Too many keys or tokens that nobody holds came from your address. Try again later.';
    throw new ServiceError('rate_limited', message, { retryAfterSeconds });
  }

  return {
    async find(secretHash, address) {
      const known = recall(secretHash);
      if (known && known.leftMs > 0) return known.holder;
      if (!known) await refuseGuesser(address);
      const holder = await askOnce(secretHash);
      if (holder === null && !known) await unknown.count(address);
      return holder;
    },
    remembers: (secretHash) =>
      (recall(secretHash)?.leftMs ?? Number.NEGATIVE_INFINITY) > options.keepMs - options.rememberMs,
    forget(holds) {
      forgotten++;
      // A request that comes later must not join a look-up that may have read what was before.
      asked.clear();
      for (const [secretHash, known] of kept) {
        if (holds(known.holder)) kept.set(secretHash, { ...known, untilMs: Number.NEGATIVE_INFINITY });
      }
    },
  };
}

/** Authenticates requests by their bearer secrets. */
export type Authenticator<Holder> = {
  /**
   * @throws {ServiceError} `unauthorized` where the secret is missing or nobody's; `unavailable` where it
   *   cannot be looked up; `rate_limited` where its address sent too many unknown secrets
   */
  authenticate(head: RequestHead): Promise<Holder>;
  /** Whether the request's secret was good a moment ago, known at once; false says nothing. */
  remembers(head: RequestHead): boolean;
};

export function createAuthenticator<Holder>(
  kind: SecretKind,
  credentials: Pick<Credentials<Holder>, 'find' | 'remembers'>,
): Authenticator<Holder> {
  const name = kind === 'api_key' ? 'API key' : 'driver token';
  return {
    async authenticate(head) {
      const secret = bearerToken(head);
      if (secret === null)
        throw new ServiceError('unauthorized', `Send your ${name}: "Authorization: Bearer <${name}>".`);
      const holder = hasSecretForm(kind, secret)
        ? await asAvailable(credentials.find(hashSecret(secret), head.remoteAddress()))
        : null;
      if (holder === null) throw unauthorized(name);
      return holder;
    },
    remembers(head) {
      const secret = bearerToken(head);
      return secret !== null && hasSecretForm(kind, secret) && credentials.remembers(hashSecret(secret));
    },
  };
}

export function unauthorized(name = 'API key'): ServiceError {
  return new ServiceError('unauthorized', `The ${name} is wrong, or what it belongs to is not active.`);
}
